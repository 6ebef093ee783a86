#include "compiler/Target/CPU/BlockProduct.h"

#include "compiler/Target/CPU/Chunks.h"
#include "compiler/Target/CPU/MicroKernel.h"
#include "compiler/Target/CPU/VectorMath.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace xf::cpu {

/// Groups of which all rows are widened at a time: they stay in the first-level cache while panels are walked over.
static constexpr int64_t kWideGroups = 128;

/// What panels consist of.
static Type panelElement(Builder &b, Factor factor) {
  switch (factor) {
  case Factor::f32:
    return b.getF32Type();
  case Factor::bf16:
  case Factor::i16:
    return b.getI16Type();
  case Factor::i8:
  case Factor::i8_weights:
    return b.getI8Type();
  }
  llvm_unreachable("unknown factor");
}

namespace {
class BlockProduct {
public:
  BlockProduct(CodeBuilder &b, const PanelKind &kind)
      : b(b), kind(kind), element(panelElement(b, kind.factor)), tileRows(largestTile(b.isa(), kind.factor).rows),
        part{b.argument(1), b.argument(2), b.argument(7), b.i64(0), b.argument(12)} {}

  void emit() {
    if (widensRows(b.isa(), kind.factor))
      widened();
    else
      dispatch(1);
  }

private:
  /// A part of k: its rows, how many groups it has, and which is the first.
  struct Part {
    Value rows, rowStride, groups, first;
    Value goesOn; // whether there is one in front of it
  };

  /// Makes a part's rows f32, with a zero behind an odd number of elements as in the panels, then multiplies it, and so on.
  void widened() {
    Type f32 = b.getF32Type();
    int64_t group = mlir::xf::panelGroup(element), stride = kWideGroups * group + kLanes; // off powers of two, which would share cache sets
    Value buffer = b.stack(f32, tileRows * stride), a = b.argument(1), lda = b.argument(2), rows = b.argument(0);
    Value elements = b.add(b.mul(b.argument(7), group), kind.tail), groups = b.add(b.argument(7), kind.tail ? 1 : 0);
    // Of no groups at all the sums are zeros.
    b.loop(b.i64(0), b.max(groups, b.i64(1)), kWideGroups, [&](Value first) {
      Value count = b.min(b.i64(kWideGroups), b.sub(groups, first));
      Value from = b.mul(first, group), length = b.min(b.i64(kWideGroups * group), b.sub(elements, from));
      b.loop(b.i64(0), rows, 1, [&](Value row) {
        Value source = b.at(a, b.add(b.mul(lda, row), from), element), target = b.at(buffer, b.mul(row, stride), f32);
        forChunks(b, length, ValueRange(), [&](Value offset, Value lanes, ValueRange) -> SmallVector<Value> {
          b.storeVector(widenFromBF16(b, b.loadVector(element, b.at(source, offset, element), lanes)), b.at(target, offset, f32));
          return {};
        });
      });
      part = {buffer, b.i64(stride), count, first, b.create<arith::OrIOp>(b.argument(12), b.less(b.i64(0), first))};
      kind.tail = 0;
      dispatch(1);
    });
  }

  /// Finds the number of rows among `row` … tileRows.
  void dispatch(int64_t row) {
    if (row == tileRows)
      return columns(row);
    b.ifElse(
        b.equal(b.argument(0), b.i64(row)), [&] { columns(row); }, [&] { dispatch(row + 1); });
  }

  /// Walks over the panels, as many at once as suit the number of rows, then the rest by halves.
  void columns(int64_t rows) {
    Value panels = b.argument(8);
    int64_t width = panelsFor(b.isa(), rows, kind);
    if (kind.pitch > 1) // there are no more
      width = std::min<int64_t>(width, llvm::bit_floor(static_cast<uint64_t>(kind.pitch)));
    Value whole = b.sub(panels, b.rem(panels, b.i64(width)));
    b.loop(b.i64(0), whole, width, [&](Value first) { call(rows, width, first); });
    for (int64_t rest = width / 2; rest; rest /= 2) {
      Value first = b.sub(panels, b.rem(panels, b.i64(2 * rest)));
      b.ifThen(b.less(b.i64(rest - 1), b.sub(panels, first)), [&] { call(rows, rest, first); });
    }
  }

  void call(int64_t rows, int64_t width, Value firstPanel) {
    Value panelStride = b.argument(4), aheadPanel = b.argument(10), aheadStep = b.argument(11);
    Value panel = b.at(b.argument(3), b.mul(firstPanel, panelStride), element);
    panel = b.at(panel, b.mul(part.first, kind.pitch * kLanes * mlir::xf::panelGroup(element)), element);
    // All sums take four bytes.
    Value c = b.at(b.argument(5), b.mul(firstPanel, kLanes), b.getI32Type());
    Value ahead = b.at(b.argument(9), b.add(b.mul(firstPanel, aheadPanel), b.mul(part.first, aheadStep)), b.getI8Type());
    auto kernel = getMicroKernel(b.module(), b.isa(), kind, rows, width);
    b.create<LLVM::CallOp>(kernel, ValueRange{part.rows, part.rowStride, panel, panelStride, c, b.argument(6), part.groups, ahead, aheadPanel,
                                              aheadStep, part.goesOn});
  }

  CodeBuilder &b;
  PanelKind kind;
  Type element; // of panels, and of rows before they are widened
  int64_t tileRows;
  Part part;
};
} // namespace

LLVM::LLVMFuncOp getBlockProduct(ModuleOp module, Isa isa, const PanelKind &kind) {
  std::string name = productName(kind) + isaName(isa).str();
  if (auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return function;
  Type ptr = LLVM::LLVMPointerType::get(module.getContext());
  Type i64 = IntegerType::get(module.getContext(), 64), i1 = IntegerType::get(module.getContext(), 1);
  CodeBuilder b(module, name, {i64, ptr, i64, ptr, i64, ptr, i64, i64, i64, ptr, i64, i64, i1}, isa, module.getLoc());
  b.function().setLinkage(LLVM::Linkage::Internal);
  b.function().setNoInline(true);
  BlockProduct(b, kind).emit();
  b.finish();
  return b.function();
}

WeightPanels::WeightPanels(Value x, Value weight)
    : WeightPanels(cast<RankedTensorType>(x.getType()).getElementType(), cast<RankedTensorType>(weight.getType())) {}

WeightPanels::WeightPanels(Type rowType, RankedTensorType matrix)
    : type(matrix.getElementType()), rowType(rowType), factor(factorOf(rowType, type)) {
  columns = matrix.getDimSize(0);
  panels = llvm::divideCeil(columns, kLanes);
  int64_t group = mlir::xf::panelGroup(type);
  wholeGroups = matrix.getDimSize(1) / group;
  tail = matrix.getDimSize(1) % group;
  depth = wholeGroups + (tail ? 1 : 0);
  panelElements = depth * group * kLanes;
}

int64_t largestTileRows(Operation *op, Factor factor) {
  int64_t rows = 0;
  for (Isa isa : kernelIsas(op))
    rows = std::max(rows, largestTile(isa, factor).rows);
  return rows;
}

/// Blocks of rows that share what is ahead. Memory is asked so slowly that it keeps up, with the arithmetic of all to do so behind it.
static constexpr int64_t kMostShares = 16;

void shareAhead(CodeBuilder &b, BlockOperands &operands, const PanelsAhead &next, Value turn, Value turns) {
  Value shares = b.min(turns, b.i64(kMostShares)), step = b.div(b.add(shares, kLineBytes - 1), shares), run = b.mul(step, operands.depth);
  Value isBusy = b.create<arith::AndIOp>(b.less(turn, shares), next.isNeeded);
  // A run for each panel; where there is one of all lines, these are parts of it.
  Value share = b.create<arith::SelectOp>(next.isApart, run, b.mul(run, next.panels));
  operands.ahead = b.create<arith::SelectOp>(isBusy, b.at(next.start, b.mul(share, turn), b.getI8Type()), operands.b);
  operands.aheadPanel = b.create<arith::SelectOp>(next.isApart, b.i64(next.panelBytes), run);
  operands.aheadStep = b.create<arith::SelectOp>(isBusy, step, b.i64(0));
}

void callBlockProduct(CodeBuilder &b, const BlockOperands &o, const PanelKind &kind) {
  b.create<LLVM::CallOp>(getBlockProduct(b.module(), productIsa(b.isa(), kind.factor), kind),
                         ValueRange{o.rows, o.a, o.lda, o.b, o.panelStride, o.c, o.ldc, o.depth, o.panels, o.ahead ? o.ahead : o.b,
                                    o.ahead ? o.aheadPanel : b.i64(0), o.ahead ? o.aheadStep : b.i64(0), o.goesOn ? o.goesOn : b.no()});
}

void callBlockProduct(CodeBuilder &b, const BlockOperands &operands, const PanelKind &kind, Value isOnly) {
  PanelKind cached = kind;
  cached.streams = false;
  if (kind.streams)
    b.ifElse(
        isOnly, [&] { callBlockProduct(b, operands, kind); }, [&] { callBlockProduct(b, operands, cached); });
  else
    callBlockProduct(b, operands, cached);
}

} // namespace xf::cpu
