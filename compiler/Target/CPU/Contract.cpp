// The kernel of xf.contract: a matrix product whose epilogue is applied while the block is in the first-level cache.
//
// Threads split the rows where there are many, and the columns where there are few: then each reads its own part of the
// weights, which is all the traffic there is. Neither choice changes an element's additions.
#include "compiler/Target/CPU/BlockProduct.h"
#include "compiler/Target/CPU/InterleavedRows.h"
#include "compiler/Target/CPU/KernelEmitters.h"
#include "compiler/Target/RegionVectorizer.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace xf::cpu {

/// Weights that are walked over for a chunk of rows before the next ones are. They, those that are asked for meanwhile and the rows are to take
/// about half of a second-level cache of 1 MB, whose lines whatever else passes through it takes, too.
static constexpr int64_t kWeightBlockBytes = 128 << 10;
static constexpr int64_t kMaxBlockPanels = 8;
/// Rows of a chunk, which are read once for each block of weights: they stay in the second-level cache, too.
static constexpr int64_t kChunkRows = 128;
/// Longer rows (in groups of four bytes) are multiplied part by part: a chunk of them would be too much for that cache.
static constexpr int64_t kMostDepth = 512;

static bool isInParts(const WeightPanels &weight) {
  return weight.depth > kMostDepth && weight.tail == 0 && weight.factor != Factor::i8_weights;
}

static int64_t blockPanels(const WeightPanels &weight) {
  int64_t depth = isInParts(weight) ? kMostDepth : std::max<int64_t>(weight.depth, 1);
  return std::clamp<int64_t>(llvm::bit_floor(static_cast<uint64_t>(kWeightBlockBytes / (depth * kLineBytes))), 2, kMaxBlockPanels);
}

/// Panels for which a chunk's rows are interleaved: that takes as long as multiplying them by half a panel.
static constexpr int64_t kInterleavedPanels = 16;

/// Whether `isa` interleaves a chunk's rows where there are several blocks of them. A copy of longer ones would not stay in the second-level
/// cache; those whose starts share a set of the first level have room behind them anyway.
static bool interleaves(Isa isa, const WeightPanels &weight) {
  return takesInterleaved(isa, largestTile(isa, weight.factor).rows, weight.factor) && !isInParts(weight) && weight.panels >= kInterleavedPanels;
}

static int64_t sumsBytes(mlir::xf::ContractOp op, const WeightPanels &weight) {
  // Sums wait for the next part.
  int64_t rows = isInParts(weight) ? kChunkRows : largestTileRows(op, weight.factor);
  return rows * blockPanels(weight) * kLanes * 4;
}

int64_t contractScratchBytes(mlir::xf::ContractOp op) {
  WeightPanels weight(op.getX(), op.getWeight());
  int64_t copy = 0;
  for (Isa isa : kernelIsas(op))
    if (interleaves(isa, weight))
      copy = InterleavedRows(weight.depth).bytes(llvm::divideCeil(kChunkRows, largestTile(isa, weight.factor).rows));
  return sumsBytes(op, weight) + copy;
}

namespace {
/// An extra operand of the epilogue.
struct Extra {
  unsigned view;
  Type element;
  bool byRow, byColumn;
  int64_t columnStride;
};

class Contract {
public:
  Contract(KernelBuilder &b, mlir::xf::ContractOp op, const KernelRequest &request)
      : b(b), op(op), result(request.resultView()), access(request.access), weight(op.getX(), op.getWeight()),
        interleaved(weight.depth), sumType(op.getBody().getArgument(0).getType()) {
    element = cast<RankedTensorType>(op.getResult().getType()).getElementType();
    int64_t lastDim = cast<RankedTensorType>(op.getResult().getType()).getRank() - 1;
    for (auto [i, value] : llvm::enumerate(op.getExtras())) {
      Extra extra{static_cast<unsigned>(firstExtra + i), cast<RankedTensorType>(value.getType()).getElementType(), false, false, 0};
      for (int64_t dim : op.getMap(i)) {
        extra.byColumn |= dim == lastDim;
        extra.byRow |= dim >= 0 && dim != lastDim;
      }
      if (extra.byColumn)
        extra.columnStride = access.lastStride[extra.view];
      extras.push_back(extra);
    }
  }

  void emit();

private:
  /// Views of the operands. Behind the result's is that of the weight that is multiplied next (Kernels.h).
  enum View : unsigned { rowsView, weightView, firstExtra };
  unsigned followingView() const { return result + 1; }

  /// A part of the depth: groups `begin` … `end`.
  struct Part {
    Value begin, end;
  };
  /// What is multiplied at once: a block of the chunk's rows with a part of the panels from `firstPanel` on.
  struct Turn {
    Value firstPanel, nextPanel; // and where the next ones begin
    Part part;
    Value firstRow, rowCount;
    Value number, count; // of the chunk's blocks of rows, which take these panels one after the other
  };
  /// Sums of a block of rows, row after row.
  struct Sums {
    Value address, rowStride;
    Value firstRow, rowCount;
  };

  void splitWork();
  /// All panels of rows `begin` … `end`.
  void chunk(Value begin, Value end, Value isLast);
  /// Copies the `rows` rows of a chunk of several blocks for the products to read, if that pays.
  void interleave(Value rows, Value blocks);
  void multiply(const Turn &turn);
  /// Operands that are the turn's part of its rows, interleaved or as they are.
  ProductOperands rowsOf(const Turn &turn);
  /// Where the turn's sums are to be: in scratch, or in the result itself.
  Sums placeOfSums(const Turn &turn);
  /// Makes the turn's product ask meanwhile for what follows: the panels' next part, those from `nextPanel` on, or what is behind the last
  /// ones.
  void fetchMeanwhile(const Turn &turn, Value isPart, ProductOperands &operands);
  void epilogue(const Sums &sums, Value firstPanel, Value panelCount);
  /// The epilogue of `count` panels from `column` on; of a single one, `lanes` columns exist (null: all).
  void epiloguePanels(const Sums &sums, Value column, int64_t count, Value lanes);
  /// Panels whose epilogue is applied row by row: as many as registers hold what belongs to the columns of. Rows of the result, and of
  /// what is added to it, lie far apart: a line of each at a time is what the processor's prefetching does not find.
  int64_t panelsAtOnce() { return hasAvx512(b.isa()) ? 4 : 1; }
  int64_t panelBytes() { return weight.depth * kLineBytes; }
  Value panelAddress(Value panel) { return b.at(b.data(weightView), b.mul(panel, weight.panelElements), weight.type); }
  Value loadExtra(const Extra &extra, Value row, Value column, Value lanes);
  /// Whether the result is the bare product, which is then written in place.
  bool isBare() {
    return op.getBody().front().getTerminator()->getOperand(0) == op.getBody().getArgument(0) && weight.columns % kLanes == 0 &&
           access.lastStride[result] == 1;
  }

  KernelBuilder &b;
  mlir::xf::ContractOp op;
  unsigned result;
  const KernelAccess &access;
  WeightPanels weight;
  InterleavedRows interleaved;
  Type sumType;
  SmallVector<Extra> extras;
  Type element; // of the result
  Value rowBegin, rowEnd, panelBegin, panelEnd; // this thread's share
  Value chunkBegin;                             // the chunk's first row
  Value copied, isCopied;                       // the chunk's rows, interleaved, and whether they are; null: never
  Value following, followingPanels;             // of the product behind this one: what this thread begins with
  Value behind, isFollowed;                     // what is read behind a chunk's last panels, and whether there is anything
  Value behindBytes;                            // of a panel there
};

void Contract::splitWork() {
  // Columns are split in pairs of panels.
  int64_t pairs = llvm::divideCeil(weight.panels, 2);
  KernelBuilder::Grid grid = b.grid(b.size(result, 0), pairs);
  auto firstPanelOf = [&](Value column, Value pairs) { return b.mul(b.div(b.mul(column, pairs), grid.columns), 2); };
  rowBegin = grid.rowBegin, rowEnd = grid.rowEnd;
  panelBegin = firstPanelOf(grid.column, b.i64(pairs));
  panelEnd = b.min(b.i64(weight.panels), firstPanelOf(b.add(grid.column, 1), b.i64(pairs)));
  followingPanels = b.size(followingView(), 0);
  Value first = firstPanelOf(grid.column, b.ceilDiv(followingPanels, 2));
  following = b.at(b.data(followingView()), b.mul(first, b.stride(followingView(), 0)), b.getI8Type());
}

void Contract::emit() {
  splitWork();
  Value rows = b.sub(rowEnd, rowBegin), chunks = b.ceilDiv(rows, kChunkRows);
  b.loop(b.i64(0), chunks, 1, [&](Value i) {
    auto [first, end] = b.part(rows, i, chunks);
    chunk(b.add(rowBegin, first), b.add(rowBegin, end), b.equal(b.add(i, 1), chunks));
  });
}

void Contract::chunk(Value begin, Value end, Value isLast) {
  // Blocks of rows as equal as can be: 13 rows are 7 and 6, not 12 and 1.
  Value rows = b.sub(end, begin), blocks = b.ceilDiv(rows, largestTile(b.isa(), weight.factor).rows);
  // Behind the last panels the next chunk begins with the first ones again.
  behind = b.create<arith::SelectOp>(isLast, following, panelAddress(panelBegin));
  isFollowed = b.less(b.i64(0), b.create<arith::SelectOp>(isLast, followingPanels, b.i64(1)));
  behindBytes = b.create<arith::SelectOp>(isLast, b.stride(followingView(), 0), b.i64(panelBytes()));
  chunkBegin = begin;
  interleave(rows, blocks);
  Value depth = b.i64(weight.wholeGroups), firstPanel;
  int64_t step = blockPanels(weight);
  auto multiplyPart = [&](const Part &part) {
    b.loop(b.i64(0), blocks, 1, [&](Value i) {
      auto [first, end] = b.part(rows, i, blocks);
      multiply({firstPanel, b.add(firstPanel, step), part, b.add(begin, first), b.sub(end, first), i, blocks});
    });
  };
  b.loop(panelBegin, panelEnd, step, [&](Value panel) {
    firstPanel = panel;
    if (!isInParts(weight))
      return multiplyPart({b.i64(0), depth});
    // A single block of rows reads its panels once: they are one run of lines.
    Value parts = b.create<arith::SelectOp>(b.equal(blocks, b.i64(1)), b.i64(1), b.i64(llvm::divideCeil(weight.depth, kMostDepth)));
    b.loop(b.i64(0), parts, 1, [&](Value i) {
      auto [first, end] = b.part(depth, i, parts);
      multiplyPart({first, end});
    });
  });
}

void Contract::multiply(const Turn &turn) {
  Value panelCount = b.sub(b.min(turn.nextPanel, panelEnd), turn.firstPanel);
  int64_t group = mlir::xf::panelGroup(weight.type);
  Sums sums = placeOfSums(turn);
  ProductOperands operands = rowsOf(turn);
  operands.b = b.at(panelAddress(turn.firstPanel), b.mul(turn.part.begin, kLanes * group), weight.type);
  operands.panelStride = b.i64(weight.panelElements), operands.panels = panelCount;
  operands.c = sums.address, operands.ldc = sums.rowStride;
  operands.depth = b.sub(turn.part.end, turn.part.begin);
  operands.goesOn = b.less(b.i64(0), turn.part.begin);
  Value isPart = b.less(turn.part.end, b.i64(weight.wholeGroups)); // and not the last one
  fetchMeanwhile(turn, isPart, operands);
  callBlockProduct(b, operands, weight.kind(access.weightsStream), b.equal(turn.count, b.i64(1)));
  if (!isBare())
    b.ifElse(isPart, [] {}, [&] { epilogue(sums, turn.firstPanel, panelCount); });
}

void Contract::interleave(Value rows, Value blocks) {
  if (!interleaves(b.isa(), weight))
    return;
  copied = b.atByte(b.scratch(), sumsBytes(op, weight));
  isCopied = b.create<arith::AndIOp>(b.less(b.i64(1), blocks), b.less(b.i64(kInterleavedPanels - 1), b.sub(panelEnd, panelBegin)));
  b.ifThen(isCopied, [&] {
    b.loop(b.i64(0), blocks, 1, [&](Value i) {
      auto [first, end] = b.part(rows, i, blocks);
      Value stride = b.stride(rowsView, 0), source = b.at(b.data(rowsView), b.mul(b.add(chunkBegin, first), stride), weight.rowType);
      interleaved.copy(b, {source, stride}, b.sub(end, first), copied, i);
    });
  });
}

ProductOperands Contract::rowsOf(const Turn &turn) {
  Value lda = b.stride(rowsView, 0), row = b.at(b.data(rowsView), b.mul(turn.firstRow, lda), weight.rowType);
  ProductOperands operands{};
  operands.rows = turn.rowCount, operands.lda = lda;
  operands.a = b.at(row, b.mul(turn.part.begin, mlir::xf::panelGroup(weight.type)), weight.rowType);
  if (!isCopied)
    return operands;
  auto choose = [&](Value copy, Value original) { return b.create<arith::SelectOp>(isCopied, copy, original); };
  operands.a = choose(interleaved.at(b, copied, turn.number, turn.part.begin), operands.a);
  operands.lda = choose(b.i64(1), lda), operands.step = choose(b.i64(InterleavedRows::kPitch), b.i64(1));
  return operands;
}

Contract::Sums Contract::placeOfSums(const Turn &turn) {
  if (isBare()) {
    Value stride = b.stride(result, 0), row = b.at(b.data(result), b.mul(turn.firstRow, stride), sumType);
    return {b.at(row, b.mul(turn.firstPanel, kLanes), sumType), stride, turn.firstRow, turn.rowCount};
  }
  Value start = b.scratch(), stride = b.i64(blockPanels(weight) * kLanes);
  if (isInParts(weight)) // all of the chunk's sums wait for the next part
    start = b.at(start, b.mul(b.sub(turn.firstRow, chunkBegin), stride), sumType);
  return {start, stride, turn.firstRow, turn.rowCount};
}

void Contract::fetchMeanwhile(const Turn &turn, Value isPart, ProductOperands &operands) {
  Value isHere = b.less(turn.nextPanel, panelEnd);
  Value next = b.create<arith::SelectOp>(isHere, panelAddress(turn.nextPanel), behind);
  Value nextPart = b.at(panelAddress(turn.firstPanel), b.mul(turn.part.end, kLanes * mlir::xf::panelGroup(weight.type)), weight.type);
  next = b.create<arith::SelectOp>(isPart, nextPart, next);
  isHere = b.create<arith::OrIOp>(isPart, isHere);
  Value isSomewhere = b.create<arith::OrIOp>(isHere, isFollowed);
  // Several blocks of rows begin with a part of each panel; one takes a panel after the other.
  Value bytes = b.create<arith::SelectOp>(isHere, b.i64(panelBytes()), behindBytes);
  Value isApart = b.create<arith::AndIOp>(b.less(b.i64(1), turn.count), b.less(b.i64(kMostDepth * kLineBytes), bytes));
  shareAhead(b, operands, {next, blockPanels(weight), isSomewhere, isApart, bytes}, turn.number, turn.count);
}

void Contract::epilogue(const Sums &sums, Value firstPanel, Value panelCount) {
  Value end = b.add(firstPanel, panelCount), whole = b.min(end, b.i64(weight.columns / kLanes));
  auto panelsOf = [&](Value panel, int64_t count, Value lanes) {
    Sums ofPanels = sums;
    ofPanels.address = b.at(sums.address, b.mul(b.sub(panel, firstPanel), kLanes), sumType);
    epiloguePanels(ofPanels, b.mul(panel, kLanes), count, lanes);
  };
  int64_t width = panelsAtOnce();
  Value wide = b.sub(whole, b.rem(b.sub(whole, firstPanel), b.i64(width)));
  b.loop(firstPanel, wide, width, [&](Value panel) { panelsOf(panel, width, nullptr); });
  if (width > 1)
    b.loop(wide, whole, 1, [&](Value panel) { panelsOf(panel, 1, nullptr); });
  if (weight.columns % kLanes)
    b.ifThen(b.equal(end, b.i64(weight.panels)), [&] { panelsOf(b.i64(weight.panels - 1), 1, b.i64(weight.columns % kLanes)); });
}

Value Contract::loadExtra(const Extra &extra, Value row, Value column, Value lanes) {
  Value address = b.data(extra.view);
  if (extra.byRow)
    address = b.at(address, b.mul(row, b.stride(extra.view, 0)), extra.element);
  if (!extra.byColumn)
    return b.load(extra.element, address);
  Value stride;
  if (ShapedType::isDynamic(extra.columnStride))
    stride = b.stride(extra.view, extra.byRow ? 1 : 0);
  else
    stride = b.i64(extra.columnStride);
  address = b.at(address, b.mul(column, stride), extra.element);
  return b.loadStrided(extra.element, address, extra.columnStride, stride, lanes);
}

void Contract::epiloguePanels(const Sums &sums, Value column, int64_t count, Value lanes) {
  Block &body = op.getBody().front();
  std::vector<RegionVectorizer> shared(count, RegionVectorizer(b));
  SmallVector<Value> columns;
  for (int64_t panel = 0; panel < count; ++panel) {
    columns.push_back(b.add(column, panel * kLanes));
    for (auto [i, extra] : llvm::enumerate(extras))
      if (!extra.byRow)
        shared[panel].bind(body.getArgument(1 + i), loadExtra(extra, nullptr, columns.back(), lanes));
  }
  int64_t columnStride = access.lastStride[result];
  Value stride = ShapedType::isDynamic(columnStride) ? b.stride(result, 1) : b.i64(columnStride);
  b.loop(b.i64(0), sums.rowCount, 1, [&](Value i) {
    Value row = b.add(sums.firstRow, i), rowSums = b.at(sums.address, b.mul(i, sums.rowStride), sumType);
    Value rowResult = b.at(b.data(result), b.mul(row, b.stride(result, 0)), element);
    for (int64_t panel = 0; panel < count; ++panel) {
      RegionVectorizer region = shared[panel];
      region.bind(body.getArgument(0), b.loadVector(sumType, b.at(rowSums, panel * kLanes, sumType)));
      for (auto [number, extra] : llvm::enumerate(extras))
        if (extra.byRow)
          region.bind(body.getArgument(1 + number), loadExtra(extra, row, columns[panel], lanes));
      Value value = region.emitVector(body.getTerminator()->getOperand(0));
      b.storeStrided(value, b.at(rowResult, b.mul(columns[panel], stride), element), columnStride, stride, lanes);
    }
  });
}
} // namespace

LogicalResult emitContract(KernelBuilder &b, mlir::xf::ContractOp op, const KernelRequest &request) {
  if (request.operands.size() != op->getNumOperands())
    return op.emitError("a matrix product reads per-sentence states through a copy only");
  Contract(b, op, request).emit();
  return success();
}

} // namespace xf::cpu
