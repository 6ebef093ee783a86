// The kernel of xf.contract: a matrix product whose epilogue is applied while the block is in the first-level cache.
//
// Threads split the rows where there are many, and the columns where there are few: then each reads its own part of the
// weights, which is all the traffic there is. Neither choice changes an element's additions.
#include "compiler/Target/CPU/BlockProduct.h"
#include "compiler/Target/CPU/KernelEmitters.h"
#include "compiler/Target/CPU/RegionVectorizer.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace xf::cpu {

/// Weights that are walked over for a chunk of rows before the next ones are: a part of the second-level cache.
static constexpr int64_t kWeightBlockBytes = 256 << 10;
static constexpr int64_t kMaxBlockPanels = 8;
/// Rows of a chunk, which are read once for each block of weights: they stay in the second-level cache, too.
static constexpr int64_t kChunkRows = 128;
/// Longer rows (in groups of four bytes) are multiplied part by part: a chunk of them, and two panels, would be too much for that cache.
static constexpr int64_t kMostDepth = 2048, kPartDepth = 1024;

static bool isInParts(const WeightPanels &weight) {
  return weight.depth > kMostDepth && weight.tail == 0 && weight.factor != Factor::i8_weights;
}

static int64_t blockPanels(const WeightPanels &weight) {
  int64_t depth = isInParts(weight) ? kPartDepth : std::max<int64_t>(weight.depth, 1);
  return std::clamp<int64_t>(llvm::bit_floor(static_cast<uint64_t>(kWeightBlockBytes / (depth * kLineBytes))), 2, kMaxBlockPanels);
}

int64_t contractScratchBytes(mlir::xf::ContractOp op) {
  WeightPanels weight(op.getX(), op.getWeight());
  // Sums wait for the next part.
  int64_t rows = isInParts(weight) ? kChunkRows : largestTileRows(op, weight.factor);
  return rows * blockPanels(weight) * kLanes * 4;
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
        sumType(op.getBody().getArgument(0).getType()) {
    element = cast<RankedTensorType>(op.getResult().getType()).getElementType();
    int64_t lastDim = cast<RankedTensorType>(op.getResult().getType()).getRank() - 1;
    for (auto [i, value] : llvm::enumerate(op.getExtras())) {
      Extra extra{static_cast<unsigned>(2 + i), cast<RankedTensorType>(value.getType()).getElementType(), false, false, 0};
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
  void splitWork();
  /// All panels of rows `begin` … `end`.
  void chunk(Value begin, Value end, Value isLast);
  /// A part of the depth: groups `begin` … `end`.
  struct Part {
    Value begin, end;
  };
  /// The block of panels from `firstPanel` on, for block `i` of `blocks` of the chunk's rows. Fetched meanwhile: the panels' next part, those from
  /// `nextPanel` on, or what is behind the last ones.
  void block(Value firstPanel, Value nextPanel, const Part &part, Value firstRow, Value rowCount, Value i, Value blocks);
  void epilogue(Value buffer, Value bufferStride, Value firstPanel, Value panelCount, Value firstRow, Value rowCount);
  /// The epilogue of `count` panels from `column` on; of a single one, `lanes` columns exist (null: all).
  void epiloguePanels(Value sums, Value sumsStride, Value column, int64_t count, Value lanes, Value firstRow, Value rowCount);
  /// Panels whose epilogue is applied row by row: as many as registers hold what belongs to the columns of. Rows of the result, and of
  /// what is added to it, lie far apart: a line of each at a time is what the processor's prefetching does not find.
  int64_t panelsAtOnce() { return hasAvx512(b.isa()) ? 4 : 1; }
  Value panelAddress(Value panel) { return b.at(b.data(1), b.mul(panel, weight.panelElements), weight.type); }
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
  Type sumType;
  SmallVector<Extra> extras;
  Type element; // of the result
  Value rowBegin, rowEnd, panelBegin, panelEnd; // this thread's share
  Value chunkBegin;                             // the chunk's first row
  Value following, followingPanels;             // of the product behind this one: what this thread begins with
  Value behind, isFollowed;                     // what is read behind a chunk's last panels, and whether there is anything
};

void Contract::splitWork() {
  // Columns are split in pairs of panels.
  int64_t pairs = llvm::divideCeil(weight.panels, 2);
  KernelBuilder::Grid grid = b.grid(b.size(result, 0), pairs);
  rowBegin = grid.rowBegin, rowEnd = grid.rowEnd;
  panelBegin = b.mul(b.div(b.mul(grid.column, pairs), grid.columns), 2);
  panelEnd = b.min(b.i64(weight.panels), b.mul(b.div(b.mul(b.add(grid.column, 1), pairs), grid.columns), 2));
  followingPanels = b.size(result + 1, 0);
  Value followingPairs = b.div(b.add(followingPanels, 1), b.i64(2));
  Value first = b.mul(b.div(b.mul(grid.column, followingPairs), grid.columns), 2);
  following = b.at(b.data(result + 1), b.mul(first, b.stride(result + 1, 0)), b.getI8Type());
}

void Contract::emit() {
  splitWork();
  Value rows = b.sub(rowEnd, rowBegin);
  Value chunks = b.div(b.add(rows, kChunkRows - 1), b.i64(kChunkRows));
  b.loop(b.i64(0), chunks, 1, [&](Value i) {
    Value first = b.div(b.mul(rows, i), chunks), end = b.div(b.mul(rows, b.add(i, 1)), chunks);
    chunk(b.add(rowBegin, first), b.add(rowBegin, end), b.equal(b.add(i, 1), chunks));
  });
}

void Contract::chunk(Value begin, Value end, Value isLast) {
  Value tileRows = b.i64(largestTile(b.isa(), weight.factor).rows), rows = b.sub(end, begin);
  // Blocks of rows as equal as can be: 13 rows are 7 and 6, not 12 and 1.
  Value blocks = b.div(b.add(rows, b.sub(tileRows, 1)), tileRows);
  // Behind the last panels the next chunk begins with the first ones again.
  behind = b.create<arith::SelectOp>(isLast, following, panelAddress(panelBegin));
  isFollowed = b.less(b.i64(0), b.create<arith::SelectOp>(isLast, followingPanels, b.i64(1)));
  chunkBegin = begin;
  Value depth = b.i64(weight.wholeGroups);
  int64_t step = blockPanels(weight);
  b.loop(panelBegin, panelEnd, step, [&](Value firstPanel) {
    auto multiply = [&](const Part &part) {
      b.loop(b.i64(0), blocks, 1, [&](Value i) {
        Value first = b.div(b.mul(rows, i), blocks), end = b.div(b.mul(rows, b.add(i, 1)), blocks);
        block(firstPanel, b.add(firstPanel, step), part, b.add(begin, first), b.sub(end, first), i, blocks);
      });
    };
    if (!isInParts(weight))
      return multiply({b.i64(0), depth});
    // A single block of rows reads its panels once: they are one run of lines.
    Value parts = b.create<arith::SelectOp>(b.equal(blocks, b.i64(1)), b.i64(1), b.i64(llvm::divideCeil(weight.depth, kPartDepth)));
    b.loop(b.i64(0), parts, 1, [&](Value i) {
      multiply({b.div(b.mul(depth, i), parts), b.div(b.mul(depth, b.add(i, 1)), parts)});
    });
  });
}

void Contract::block(Value firstPanel, Value nextPanel, const Part &part, Value firstRow, Value rowCount, Value i, Value blocks) {
  Value panelCount = b.sub(b.min(nextPanel, panelEnd), firstPanel), lda = b.stride(0, 0);
  int64_t group = mlir::xf::panelGroup(weight.type), panelWidth = kLanes * group;
  Value x = b.at(b.at(b.data(0), b.mul(firstRow, lda), weight.rowType), b.mul(part.begin, group), weight.rowType);
  Value panels = b.at(panelAddress(firstPanel), b.mul(part.begin, panelWidth), weight.type);
  Value target = b.scratch(), targetStride = b.i64(blockPanels(weight) * kLanes);
  if (isInParts(weight))
    target = b.at(target, b.mul(b.sub(firstRow, chunkBegin), targetStride), sumType);
  if (isBare()) {
    targetStride = b.stride(result, 0);
    Value row = b.at(b.data(result), b.mul(firstRow, targetStride), sumType);
    target = b.at(row, b.mul(firstPanel, kLanes), sumType);
  }
  BlockOperands operands{rowCount, x, lda, panels, b.i64(weight.panelElements), target, targetStride,
                         b.sub(part.end, part.begin), panelCount};
  operands.goesOn = b.less(b.i64(0), part.begin);
  Value isPart = b.less(part.end, b.i64(weight.wholeGroups)); // and not the last one
  Value isHere = b.less(nextPanel, panelEnd);
  Value next = b.create<arith::SelectOp>(isHere, panelAddress(nextPanel), behind);
  next = b.create<arith::SelectOp>(isPart, b.at(panelAddress(firstPanel), b.mul(part.end, panelWidth), weight.type), next);
  Value isSomewhere = b.create<arith::OrIOp>(isPart, b.create<arith::OrIOp>(isHere, isFollowed));
  int64_t panelBytes = weight.depth * kLineBytes;
  shareAhead(b, operands, {next, blockPanels(weight), isSomewhere, isPart, panelBytes}, i, blocks);
  callBlockProduct(b, operands, weight.kind(access.weightsStream), b.equal(blocks, b.i64(1)));
  if (!isBare())
    b.ifElse(isPart, [] {}, [&] { epilogue(target, targetStride, firstPanel, panelCount, firstRow, rowCount); });
}

void Contract::epilogue(Value buffer, Value bufferStride, Value firstPanel, Value panelCount, Value firstRow,
                        Value rowCount) {
  Value end = b.add(firstPanel, panelCount), whole = b.min(end, b.i64(weight.columns / kLanes));
  auto panelsOf = [&](Value panel, int64_t count, Value lanes) {
    Value sums = b.at(buffer, b.mul(b.sub(panel, firstPanel), kLanes), sumType);
    epiloguePanels(sums, bufferStride, b.mul(panel, kLanes), count, lanes, firstRow, rowCount);
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

void Contract::epiloguePanels(Value sums, Value sumsStride, Value column, int64_t count, Value lanes, Value firstRow, Value rowCount) {
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
  b.loop(b.i64(0), rowCount, 1, [&](Value i) {
    Value row = b.add(firstRow, i), rowSums = b.at(sums, b.mul(i, sumsStride), sumType);
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
  if (request.operands.size() != 2 + op.getExtras().size())
    return op.emitError("a matrix product reads per-sentence states through a copy only");
  Contract(b, op, request).emit();
  return success();
}

} // namespace xf::cpu
