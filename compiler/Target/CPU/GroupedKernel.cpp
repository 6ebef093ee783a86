// The innermost loops of a product whose factors are of fewer bits than its sums.
#include "compiler/Target/CPU/FactorArithmetic.h"
#include "compiler/Target/CPU/MicroKernel.h"

using namespace mlir;

namespace xf::cpu {

namespace {
class GroupedKernel {
public:
  GroupedKernel(CodeBuilder &b, const PanelKind &kind, int64_t rows, int64_t panels)
      : b(b), wideRows(widensRows(b.isa(), kind.factor)), factors(b, kind.factor, wideRows), ahead(b, kind, rows, panels),
        tail(kind.tail), line(kind.pitch * kLanes * factors.group()), rows(rows), panels(panels), element(factors.element()),
        rowElement(factors.rowElement()) {}

  void emit() {
    Value a = b.argument(0), lda = b.argument(1), panel = b.argument(2), panelStride = b.argument(3);
    Value c = b.argument(4), ldc = b.argument(5), groups = b.argument(6);
    for (int64_t row = 0; row < rows; ++row)
      rowStart.push_back(b.at(a, b.mul(lda, row), rowElement));
    for (int64_t i = 0; i < panels; ++i)
      panelStart.push_back(b.at(panel, b.mul(panelStride, i), element));
    Type sumType = factors.sumType();
    auto place = [&](int64_t sum) { return b.at(b.at(c, b.mul(ldc, sum / panels), sumType), sum % panels * kLanes, sumType); };
    SmallVector<Value> sums = firstSums(b, rows * panels, sumType, place);

    // Small tiles save jumps and address updates; in large ones they cost nothing.
    int64_t unroll = rows * panels < 8 ? 4 : 1;
    Value whole = b.sub(groups, b.rem(groups, b.i64(unroll)));
    auto steps = [&](Value from, Value to, int64_t count) {
      sums = b.loop(from, to, count, sums, [&](Value k, ValueRange carried) {
        SmallVector<Value> next(carried);
        for (int64_t u = 0; u < count; ++u) {
          ahead.fetch(b.add(k, u));
          step(k, u, factors.group(), next);
        }
        return next;
      });
    };
    steps(b.i64(0), whole, unroll);
    if (unroll > 1)
      steps(whole, groups, 1);
    if (tail)
      step(groups, 0, tail, sums);

    for (auto [i, sum] : llvm::enumerate(sums))
      b.storeVector(sum, place(i));
  }

private:
  /// Adds the products of group k + u, of which the row has the first `count` elements.
  void step(Value k, int64_t u, int64_t count, SmallVector<Value> &sums) {
    int64_t group = factors.group();
    SmallVector<FactorArithmetic::Parts> columns;
    for (Value start : panelStart) {
      Value address = b.at(b.at(start, b.mul(k, line), element), u * line, element);
      ahead.fetchBehind(address);
      columns.push_back(factors.loadPanel(address));
    }
    for (int64_t row = 0; row < rows; ++row) {
      auto x = factors.loadRow(b.at(b.at(rowStart[row], b.mul(k, group), rowElement), u * group, rowElement), count);
      for (int64_t i = 0; i < panels; ++i) {
        Value &sum = sums[row * panels + i];
        sum = factors.multiplyAdd(x, columns[i], sum);
      }
    }
  }

  CodeBuilder &b;
  bool wideRows; // then groups are whole
  FactorArithmetic factors;
  AheadFetcher ahead;
  int64_t tail;
  int64_t line; // elements from one group to the next
  int64_t rows, panels;
  Type element, rowElement;
  SmallVector<Value> rowStart, panelStart;
};
} // namespace

void emitGroupedMicroKernel(CodeBuilder &b, const PanelKind &kind, int64_t rows, int64_t panels) {
  GroupedKernel(b, kind, rows, panels).emit();
}

} // namespace xf::cpu
