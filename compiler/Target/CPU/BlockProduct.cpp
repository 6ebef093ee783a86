#include "compiler/Target/CPU/BlockProduct.h"

#include "compiler/Target/CPU/Chunks.h"
#include "compiler/Target/CPU/MicroKernel.h"
#include "compiler/Target/CPU/SharedFunction.h"
#include "compiler/Target/CPU/SplitBytes.h"
#include "compiler/Target/VectorMath.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace xf::cpu {

/// How much of a tile's rows is widened at a time: it stays in the first-level cache while panels are walked over.
static constexpr int64_t kWideBytes = 12 << 10;
/// How many groups of all rows, and of a panel, are split at a time.
static constexpr int64_t kSplitGroups = 128;

/// The type of a panel's elements.
static Type panelElement(Builder &b, Factor factor) {
  switch (factor) {
  case Factor::f32:
    return b.getF32Type();
  case Factor::bf16:
  case Factor::i16:
  case Factor::i8_split:
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
  BlockProduct(CodeBuilder &b, const ProductOperands &operands, const PanelKind &kind)
      : b(b), operands(operands), kind(kind), element(panelElement(b, kind.factor)),
        group(kind.factor == Factor::i8_split ? SplitBytes::kGroup : mlir::xf::panelGroup(element)),
        tileRows(largestTile(b.isa(), kind.factor).rows) {}

  void emit() {
    auto asTheyAre = [&] { dispatch({operands.a, operands.lda, operands.step, operands.depth, b.i64(0), operands.accumulates}); };
    if (widensRows(b.isa(), kind.factor))
      widened();
    else if (splitsBytes(b.isa(), kind.factor))
      b.ifElse(b.less(b.i64(tileRows), operands.rows), [&] { split(); }, asTheyAre);
    else
      asTheyAre();
  }

private:
  /// A part of k: its rows, how many groups it has, and which is the first.
  struct Part {
    Value rows, rowStride, step, groups, first;
    Value accumulates; // whether there is one in front of it
  };

  /// A part of k that rows are copied for: groups from `first` on, which are `length` elements from element `from` on.
  struct CopiedPart {
    Value first, groups, from, length;
    Value accumulates;
  };

  /// Calls `body` for parts of `most` groups and the rest; without any groups, whose sums are zeros, for an empty one.
  void forCopiedParts(int64_t most, llvm::function_ref<void(const CopiedPart &)> body) {
    Value elements = b.add(b.mul(operands.depth, group), kind.tail), groups = b.add(operands.depth, kind.tail ? 1 : 0);
    b.loop(b.i64(0), b.max(groups, b.i64(1)), most, [&](Value first) {
      Value count = b.min(b.i64(most), b.sub(groups, first)), from = b.mul(first, group);
      Value length = b.min(b.i64(most * group), b.sub(elements, from));
      body({first, count, from, length, b.create<arith::OrIOp>(operands.accumulates, b.less(b.i64(0), first))});
    });
  }

  /// Widens rows to f32, with a zero behind an odd number of elements as in the panels, and multiplies them.
  void widened() {
    int64_t groups = llvm::bit_floor(static_cast<uint64_t>(kWideBytes / (tileRows * group * sizeof(float))));
    int64_t stride = groups * group + kLanes; // off powers of two, which would share cache sets
    Value buffer = b.stack(b.getF32Type(), tileRows * stride);
    forCopiedParts(groups, [&](const CopiedPart &part) {
      widenRows(part.from, part.length, buffer, stride);
      kind.tail = 0;
      dispatch({buffer, b.i64(stride), b.i64(1), part.groups, part.first, part.accumulates});
    });
  }

  /// Stores `length` elements of each row from element `from` on as f32 at `buffer`, rows `stride` apart.
  void widenRows(Value from, Value length, Value buffer, int64_t stride) {
    Type f32 = b.getF32Type();
    b.loop(b.i64(0), operands.rows, 1, [&](Value row) {
      Value source = b.at(operands.a, b.add(b.mul(operands.lda, row), from), element), target = b.at(buffer, b.mul(row, stride), f32);
      forChunks(b, length, [&](Value offset, Value lanes) {
        b.storeVector(widenFromBF16(b, b.loadVector(element, b.at(source, offset, element), lanes)), b.at(target, offset, f32));
      });
    });
  }

  /// Splits the rows' bytes, then each panel's, and multiplies them tile by tile.
  void split() {
    assert(kind.pitch == 1);
    SplitBytes bytes(kSplitGroups);
    Type split = bytes.element(b);
    Value rows = b.stack(split, blockRows(b.isa(), kind.factor) * bytes.rowStride()), panel = b.stack(split, bytes.panelElements());
    Value tiles = b.ceilDiv(operands.rows, tileRows), aheadStep = b.div(b.sub(b.add(operands.aheadStep, tiles), 1), tiles);
    auto rowAt = [&](Value row) { return b.at(rows, b.mul(row, bytes.rowStride()), split); };
    forCopiedParts(kSplitGroups, [&](const CopiedPart &part) {
      b.loop(b.i64(0), operands.rows, 1, [&](Value row) {
        bytes.splitRow(b, b.at(operands.a, b.add(b.mul(operands.lda, row), part.from), element), part.length, part.groups, rowAt(row));
      });
      b.loop(b.i64(0), operands.panels, 1, [&](Value i) {
        Value source = b.at(operands.b, b.add(b.mul(operands.panelStride, i), b.mul(part.from, kLanes)), element);
        bytes.splitPanel(b, source, part.groups, panel);
        Value ahead = b.at(operands.ahead, b.add(b.mul(operands.aheadPanel, i), b.mul(operands.aheadStep, part.first)), element);
        b.loop(b.i64(0), tiles, 1, [&](Value tile) {
          auto [begin, end] = b.part(operands.rows, tile, tiles);
          ProductOperands ofTile{};
          ofTile.rows = b.sub(end, begin), ofTile.panels = b.i64(1), ofTile.depth = part.groups;
          ofTile.a = rowAt(begin), ofTile.lda = b.i64(bytes.rowStride());
          ofTile.b = panel, ofTile.panelStride = b.i64(0);
          ofTile.c = b.at(operands.c, b.add(b.mul(operands.ldc, begin), b.mul(i, kLanes)), b.getI32Type()), ofTile.ldc = operands.ldc;
          ofTile.ahead = b.at(ahead, b.mul(b.mul(aheadStep, part.groups), tile), element);
          ofTile.aheadPanel = b.i64(0), ofTile.aheadStep = aheadStep;
          ofTile.accumulates = part.accumulates;
          callBlockProduct(b, ofTile, {.factor = Factor::i8_split});
        });
      });
    });
  }

  /// Finds the number of rows among `rows` … tileRows.
  void dispatch(const Part &part, int64_t rows = 1) {
    if (rows == tileRows)
      return columns(part, rows);
    b.ifElse(b.equal(operands.rows, b.i64(rows)), [&] { columns(part, rows); }, [&] { dispatch(part, rows + 1); });
  }

  /// Walks over the panels, as many at once as suit the number of rows, then the rest by halves.
  void columns(const Part &part, int64_t rows) {
    int64_t width = panelsFor(b.isa(), rows, kind);
    if (kind.pitch > 1) // which is the number of panels
      width = std::min<int64_t>(width, llvm::bit_floor(static_cast<uint64_t>(kind.pitch)));
    Value panels = operands.panels, whole = b.sub(panels, b.rem(panels, b.i64(width)));
    b.loop(b.i64(0), whole, width, [&](Value first) { call(part, rows, width, first); });
    for (int64_t rest = width / 2; rest; rest /= 2) {
      Value first = b.sub(panels, b.rem(panels, b.i64(2 * rest)));
      b.ifThen(b.less(b.i64(rest - 1), b.sub(panels, first)), [&] { call(part, rows, rest, first); });
    }
  }

  /// Multiplies the part with the `width` panels from `firstPanel` on.
  void call(const Part &part, int64_t rows, int64_t width, Value firstPanel) {
    Value panel = b.at(operands.b, b.mul(firstPanel, operands.panelStride), element);
    panel = b.at(panel, b.mul(part.first, kind.pitch * kLanes * group), element);
    // All sums take four bytes.
    Value c = b.at(operands.c, b.mul(firstPanel, kLanes), b.getI32Type());
    Value lines = b.add(b.mul(firstPanel, operands.aheadPanel), b.mul(part.first, operands.aheadStep));
    ProductOperands ofTile = operands;
    ofTile.a = part.rows, ofTile.lda = part.rowStride, ofTile.step = part.step, ofTile.b = panel, ofTile.c = c, ofTile.depth = part.groups;
    ofTile.ahead = b.at(operands.ahead, lines, b.getI8Type()), ofTile.accumulates = part.accumulates;
    auto kernel = getMicroKernel(b.module(), b.isa(), kind, rows, width);
    b.create<LLVM::CallOp>(kernel, inOrder(ofTile, ProductFunction::microKernel));
  }

  CodeBuilder &b;
  const ProductOperands &operands;
  PanelKind kind;
  Type element; // of panels, and of rows before they are widened
  int64_t group, tileRows;
};
} // namespace

LLVM::LLVMFuncOp getBlockProduct(ModuleOp module, Isa isa, const PanelKind &kind) {
  std::string name = productName(kind) + isaName(isa).str();
  return getSharedFunction(module, name, productTypes(module.getContext(), ProductFunction::block), isa,
                           [&](CodeBuilder &b) { BlockProduct(b, productArguments(b, ProductFunction::block), kind).emit(); });
}

WeightPanels::WeightPanels(Value x, Value weight)
    : WeightPanels(cast<RankedTensorType>(x.getType()).getElementType(), cast<RankedTensorType>(weight.getType())) {}

WeightPanels::WeightPanels(Type rowType, RankedTensorType matrix) : type(matrix.getElementType()), rowType(rowType), factor(factorOf(rowType, type)) {
  columns = matrix.getDimSize(0);
  panels = llvm::divideCeil(columns, kLanes);
  int64_t group = mlir::xf::panelGroup(type);
  wholeGroups = matrix.getDimSize(1) / group;
  tail = matrix.getDimSize(1) % group;
  depth = wholeGroups + (tail ? 1 : 0);
  panelElements = depth * group * kLanes;
}

/// The most blocks of rows that share the prefetches of the next panels: spread over the arithmetic of so many, they are slow enough for
/// memory to keep up.
static constexpr int64_t kMaxShares = 16;

void shareAhead(CodeBuilder &b, ProductOperands &operands, const PanelsAhead &next, Value turn, Value turns) {
  Value shares = b.min(turns, b.i64(kMaxShares)), step = b.div(b.add(shares, next.stepBytes - 1), shares), run = b.mul(step, operands.depth);
  Value isBusy = b.both(b.less(turn, shares), next.isNeeded);
  // A block prefetches a run of each panel; of contiguous panels a single run, as long as these together.
  Value share = b.create<arith::SelectOp>(next.isStrided, run, b.mul(run, next.panels));
  operands.ahead = b.create<arith::SelectOp>(isBusy, b.at(next.start, b.mul(share, turn), b.getI8Type()), operands.b);
  operands.aheadPanel = b.create<arith::SelectOp>(next.isStrided, next.panelBytes, run);
  operands.aheadStep = b.create<arith::SelectOp>(isBusy, step, b.i64(0));
}

void callBlockProduct(CodeBuilder &b, const ProductOperands &operands, const PanelKind &kind) {
  auto function = getBlockProduct(b.module(), productIsa(b.isa(), kind.factor), kind);
  ProductOperands all = operands;
  if (!all.ahead)
    all.ahead = all.b, all.aheadPanel = b.i64(0), all.aheadStep = b.i64(0);
  if (!all.step)
    all.step = b.i64(1);
  if (!all.accumulates)
    all.accumulates = b.falseValue();
  b.create<LLVM::CallOp>(function, inOrder(all, ProductFunction::block));
}

void callBlockProduct(CodeBuilder &b, const ProductOperands &operands, const PanelKind &kind, Value isOnly) {
  PanelKind shared = kind;
  shared.streams = false, shared.isShared = true;
  // Where that changes no tile it is the same product.
  if (!prefetchesRarely(b.isa(), largestTile(b.isa(), kind.factor).rows, shared))
    shared.isShared = false;
  if (!kind.streams && !shared.isShared)
    return callBlockProduct(b, operands, kind);
  b.ifElse(isOnly, [&] { callBlockProduct(b, operands, kind); }, [&] { callBlockProduct(b, operands, shared); });
}

} // namespace xf::cpu
