// The innermost loops of a product: a register tile of rows x panels, one chain of multiply-adds an element.
//
// The order of additions in an element is k ascending from +0, whatever the tile, so that tiles can be chosen by speed
// alone. Independent chains come from more rows and columns, never from splitting k.
#include "compiler/Target/CPU/MicroKernel.h"

#include "compiler/Target/CPU/FactorArithmetic.h"
#include "compiler/Target/CPU/RowPointers.h"

#include "llvm/ADT/bit.h"

#include <algorithm>

using namespace mlir;

namespace xf::cpu {

namespace {
class MicroKernel {
public:
  MicroKernel(CodeBuilder &b, const ProductOperands &operands, const PanelKind &kind, int64_t rows, int64_t panels)
      : b(b), operands(operands), factors(b, kind.factor, widensRows(b.isa(), kind.factor)), prefetcher(b, operands, kind, rows, panels), kind(kind),
        line(kind.pitch * kLanes * factors.group()), rows(rows), panels(panels),
        rowPointers(b, operands.a, operands.lda, factors.rowElement(), rows) {}

  void emit() {
    for (int64_t i = 0; i < panels; ++i)
      panelStart.push_back(b.at(operands.b, b.mul(operands.panelStride, i), factors.element()));
    firstSums();

    int64_t unroll = unrolling();
    Value depth = operands.depth, whole = b.sub(depth, b.rem(depth, b.i64(unroll)));
    steps(b.i64(0), whole, unroll);
    if (unroll > 1)
      steps(whole, depth, 1);
    if (kind.tail)
      step(depth, 0, 0, kind.tail);

    if (kind.factor == Factor::i8_split)
      subtractTerms();
    for (auto [i, sum] : llvm::enumerate(sums))
      b.storeVector(sum, sumAddress(i));
  }

private:
  /// Where sum `i` of the tile is stored.
  Value sumAddress(int64_t i) {
    Value row = b.at(operands.c, b.mul(operands.ldc, i / panels), factors.sumType());
    return b.at(row, i % panels * kLanes, factors.sumType());
  }

  /// By how much the loop over k is unrolled. Small tiles save jumps and address updates; in large ones these cost
  /// nothing, and unrolling would only tempt LLVM to load rows early and spill them.
  int64_t unrolling() {
    if (kind.factor == Factor::i8_split)
      return 2;
    if (addsPairs() && !prefetchesInRuns(b.isa(), rows, kind))
      return unrollingOfPairs();
    if (rows * panels < 8)
      return 4;
    return prefetchesRarely(b.isa(), rows, kind) ? 2 : 1;
  }

  /// Whether sums of pairs of products are added by an instruction of their own. LLVM adds those of several steps to one another first, so
  /// that they all need registers, of which AVX-512 has enough.
  bool addsPairs() { return (kind.factor == Factor::i16 || kind.factor == Factor::i8) && !hasVnni(b.isa()) && !hasAvx512(b.isa()); }

  int64_t unrollingOfPairs() {
    int64_t sumsOfStep = rows * panels * (kind.factor == Factor::i8 ? 2 : 1);
    return std::clamp<int64_t>(llvm::bit_floor(uint64_t(12 / sumsOfStep)), 1, 4);
  }

  /// What the sums begin with: zeros, or if the product goes on, what is stored.
  void firstSums() {
    Type type = factors.sumType();
    SmallVector<Value> zeros(rows * panels, b.create<arith::ConstantOp>(b.getZeroAttr(b.vectorOf(type))));
    auto former = [&](int64_t i) { return b.loadVector(type, sumAddress(i)); };
    sums = b.choose(operands.accumulates, [&] { return llvm::map_to_vector(llvm::seq(rows * panels), former); }, [&] { return zeros; });
  }

  /// Of split bytes: what stands behind the last groups.
  void subtractTerms() {
    Value behind = b.mul(operands.depth, line);
    for (int64_t i = 0; i < panels; ++i) {
      Value ofPanel = b.loadVector(factors.sumType(), b.at(panelStart[i], behind, factors.element()));
      for (int64_t row = 0; row < rows; ++row) {
        Value &sum = sums[row * panels + i];
        Value ofRow = b.splat(b.load(factors.sumType(), rowPointers.at(row, 0)));
        sum = b.create<arith::SubIOp>(sum, b.create<arith::AddIOp>(ofPanel, ofRow));
      }
    }
  }

  /// The groups from `from` to `to`, `unroll` of them in a pass.
  void steps(Value from, Value to, int64_t unroll) {
    bool takesStep = takesInterleaved(b.isa(), rows, kind.factor), prefetchesAlways = !prefetchesRarely(b.isa(), rows, kind);
    SmallVector<Value> end = b.loop(from, to, unroll, rowPointers.carriedWith(sums), [&](Value k, ValueRange before) {
      rowPointers.take(before, sums);
      for (int64_t u = 0; u < unroll; ++u) {
        if (u % 2 == 0 || prefetchesAlways)
          prefetcher.prefetch(k, u, unroll);
        step(k, u, takesStep ? 0 : u * factors.group(), factors.group());
        if (takesStep)
          rowPointers.advance(operands.step);
      }
      if (!takesStep)
        rowPointers.advance(unroll * factors.group());
      return rowPointers.carriedWith(sums);
    });
    rowPointers.take(end, sums);
  }

  /// Adds the products of group k + u, `offset` elements behind the rows' position, of which the row has the first `count` elements.
  void step(Value k, int64_t u, int64_t offset, int64_t count) {
    SmallVector<FactorArithmetic::Parts> columns;
    for (Value start : panelStart) {
      Value address = b.at(b.at(start, b.mul(k, line), factors.element()), u * line, factors.element());
      prefetcher.prefetchBehind(address);
      if (readsPanelsFast())
        b.prefetch(b.at(address, kAhead * line, factors.element()), CodeBuilder::Cache::firstLevel);
      columns.push_back(factors.loadPanel(address));
    }
    for (int64_t row = 0; row < rows; ++row) {
      Value address = rowPointers.at(row, offset);
      auto x = factors.loadRow(address, count);
      for (int64_t i = 0; i < panels; ++i) {
        Value &sum = sums[row * panels + i];
        sum = factors.multiplyAdd(x, columns[i], sum);
      }
    }
  }

  /// Whether panels' lines are used up faster than hardware prefetching brings the next ones to the first-level cache: of f32 in AVX2 a line
  /// lasts for six cycles, of two panels in AVX-512 for twelve, but beside the lines of as many rows as take all of that cache.
  bool readsPanelsFast() {
    if (prefetcher.followsStream())
      return false;
    if (hasAvx512(b.isa()))
      return rows >= largestTile(b.isa(), kind.factor).rows / 2;
    return kind.factor == Factor::f32 && hasAvx2(b.isa()) && rows >= prefetchingRows(b.isa(), kind.factor);
  }
  /// Groups that are then fetched ahead.
  static constexpr int64_t kAhead = 6;

  CodeBuilder &b;
  const ProductOperands &operands;
  FactorArithmetic factors;
  Prefetcher prefetcher;
  const PanelKind &kind;
  int64_t line; // elements from one group to the next
  int64_t rows, panels;
  RowPointers rowPointers;
  SmallVector<Value> panelStart, sums;
};
} // namespace

Prefetcher::Prefetcher(CodeBuilder &b, const ProductOperands &operands, const PanelKind &kind, int64_t rows, int64_t panels)
    : b(b), inRuns(prefetchesInRuns(b.isa(), rows, kind)), streams(streamsPanels(b.isa(), rows, kind)),
      cache(prefetchesRarely(b.isa(), rows, kind) ? CodeBuilder::Cache::firstLevel : CodeBuilder::Cache::secondLevel),
      count(rows >= prefetchingRows(b.isa(), kind.factor) && !streams ? panels : 0), start(operands.ahead), step(operands.aheadStep),
      next(operands.aheadPanel) {
  if (!inRuns && !prefetchesOwnPanels(b.isa(), rows, kind))
    return;
  start = inRuns ? operands.b : b.at(operands.b, b.mul(operands.panelStride, panels), b.getI8Type());
  step = b.i64(panels * kLineBytes), next = b.i64(kLineBytes);
  count = panels;
  cache = CodeBuilder::Cache::firstLevel;
}

void Prefetcher::prefetch(Value k, int64_t u, int64_t unroll) {
  if (inRuns)
    return prefetchRuns(k, u, unroll);
  Value line = b.at(start, b.mul(step, b.add(k, u)), b.getI8Type());
  for (int64_t i = 0; i < count; ++i)
    b.prefetch(b.at(line, b.mul(next, i), b.getI8Type()), cache);
}

void Prefetcher::prefetchRuns(Value k, int64_t u, int64_t unroll) {
  constexpr int64_t kRuns = 4, kBlockBytes = 16 << 10;
  if (unroll * count % kRuns) // a few lines at the panels' end
    return;
  Value line = b.at(start, b.mul(step, k), b.getI8Type());
  Value offset = b.create<arith::AndIOp>(b.create<LLVM::PtrToIntOp>(b.getI64Type(), line), b.i64(kBlockBytes - 1));
  Value inQuarter = b.at(line, b.sub(b.div(offset, kRuns), offset), b.getI8Type());
  for (int64_t i = u * count; i < (u + 1) * count; ++i) {
    int64_t run = i % kRuns;
    b.prefetch(b.atByte(inQuarter, (kRuns - run) * kBlockBytes + run * (kBlockBytes / kRuns) + i / kRuns * kLineBytes), cache);
  }
}

void Prefetcher::prefetchBehind(Value address) {
  // 128 lines: 160 ns at 50 GB/s. Fewer come late, more are gone from the cache again. Where the first level has room for few misses that wait for
  // memory (16 lines in Intel's Golden Cove), the second level has to have them by then.
  constexpr int64_t kBytes = 8192;
  if (!streams || inRuns)
    return;
  b.prefetch(b.atByte(address, 2 * kBytes), CodeBuilder::Cache::secondLevel);
  b.prefetch(b.atByte(address, kBytes), CodeBuilder::Cache::firstLevel);
}

/// A part of the functions' names.
static StringRef nameOf(Factor factor) {
  switch (factor) {
  case Factor::f32:
    return "";
  case Factor::bf16:
    return "bf16.";
  case Factor::i8:
    return "i8.";
  case Factor::i8_weights:
    return "i8_weights.";
  case Factor::i16:
    return "i16.";
  case Factor::i8_split:
    return "i8_split.";
  }
  llvm_unreachable("unknown factor");
}

std::string productName(const PanelKind &kind) {
  std::string name = ("xf.product." + nameOf(kind.factor)).str();
  if (kind.tail)
    name += "t" + std::to_string(kind.tail) + ".";
  if (kind.pitch > 1)
    name += "p" + std::to_string(kind.pitch) + ".";
  if (kind.streams)
    name += "streams.";
  if (kind.isShared)
    name += "shared.";
  return name;
}

LLVM::LLVMFuncOp getMicroKernel(ModuleOp module, Isa isa, const PanelKind &wanted, int64_t rows, int64_t panels) {
  PanelKind kind = wanted;
  kind.streams = streamsPanels(isa, rows, wanted) || prefetchesInRuns(isa, rows, wanted);
  kind.isShared = prefetchesRarely(isa, rows, wanted);
  std::string name = productName(kind) + std::to_string(rows) + "x" + std::to_string(panels) + "." + isaName(isa).str();
  if (auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return function;
  loadCodeDialects(module.getContext());
  CodeBuilder b(module, name, productTypes(module.getContext(), ProductFunction::microKernel), isa, module.getLoc());
  ProductOperands operands = productArguments(b, ProductFunction::microKernel);
  // As it is visible outside, LLVM does not specialise it for the arguments of its only caller, which a benchmark would then measure.
  b.function().setVisibility_(LLVM::Visibility::Hidden);
  b.function().setNoInline(true);
  for (Value pointer : {operands.a, operands.b, operands.c})
    b.function().setArgAttr(cast<BlockArgument>(pointer).getArgNumber(), LLVM::LLVMDialect::getNoAliasAttrName(), b.getUnitAttr());
  if (kind.factor == Factor::i8_weights)
    emitByteWeightMicroKernel(b, operands, kind.tail, rows, panels);
  else
    MicroKernel(b, operands, kind, rows, panels).emit();
  b.finish();
  return b.function();
}

} // namespace xf::cpu
