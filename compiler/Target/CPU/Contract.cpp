// The kernel of xf.contract: a matrix product whose epilogue is applied while the block is in the first-level cache.
//
// Threads split the rows where there are many, and the columns where there are few: then each reads its own part of the
// weights, which is all the traffic there is. Neither choice changes an element's additions.
#include "compiler/Target/CPU/ContractBlocking.h"
#include "compiler/Target/CPU/InterleavedRows.h"
#include "compiler/Target/CPU/KernelEmitters.h"
#include "compiler/Target/CPU/WidenedPanels.h"
#include "compiler/Target/RegionVectorizer.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace xf::cpu {

int64_t contractScratchBytes(mlir::xf::ContractOp op, Isa isa) {
  return ContractBlocking(isa, WeightPanels(op.getX(), op.getWeight())).scratchBytes();
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
      : b(b), op(op), result(request.resultView()), access(request.access), weight(op.getX(), op.getWeight()), blocking(b.isa(), weight),
        interleaved(blocking.partLines), group(mlir::xf::panelGroup(weight.type)), sumType(op.getBody().getArgument(0).getType()) {
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
  /// Blocks of panels that are multiplied by one part of the depth, then by the next one.
  struct Section {
    Value firstPanel, end;
  };
  /// What is multiplied at once: a block of the chunk's rows with a part of the panels from `firstPanel` on.
  struct Turn {
    Section section;
    Part part;
    Value firstPanel, panelCount, nextPanel;
    Value firstRow, rowCount;
    Value rowBlock; // index of the block of rows in the chunk, whose blocks take these panels one after the other
  };
  /// Sums of a block of rows, row after row.
  struct Sums {
    Value address, rowStride;
    Value firstRow, rowCount;
  };

  void splitWork();
  /// All panels of rows `begin` … `end`.
  void chunk(Value begin, Value end, Value isLast);
  /// The section's part of all rows of the chunk.
  void multiply(const Section &section, const Part &part);
  void multiply(const Turn &turn);
  /// Copies the part of the chunk's rows, or of `count` panels, for the products to read.
  void interleave(const Part &part);
  void widen(const Part &part, Value firstPanel, Value count);
  /// The part's groups; a tail behind the last part's counts as one.
  Value groupsOf(const Part &part) { return blocking.parts == 1 ? b.i64(weight.depth) : b.sub(part.end, part.begin); }
  Value partOfPanel(Value panel, const Part &part) { return b.at(panelAddress(panel), b.mul(part.begin, kLanes * group), weight.type); }
  /// Rows of block `block` of the chunk: the first one, and how many there are.
  std::pair<Value, Value> rowsOfBlock(Value block);
  Value addressOfRow(Value row, const Part &part);
  /// The turn's product, with the panels as they are or with widened copies.
  void multiplyOriginals(const Turn &turn, ProductOperands operands, Value isPart);
  void multiplyCopies(const Turn &turn, ProductOperands operands, Value isPart);
  /// Where the turn's sums are to be: in scratch, or in the result itself.
  Sums locateSums(const Turn &turn);
  /// Makes the turn's product prefetch meanwhile what follows: the section's next panels, its next part, the next section, or what is behind the
  /// last one. For each line that is multiplied it prefetches `stepBytes`.
  void prefetchNext(const Turn &turn, Value isPart, int64_t stepBytes, ProductOperands &operands);
  void epilogue(const Sums &sums, Value firstPanel, Value panelCount);
  /// The epilogue of `count` panels from `column` on; of a single one, `lanes` columns exist (null: all).
  void epiloguePanels(const Sums &sums, Value column, int64_t count, Value lanes);
  /// How many panels' epilogues are applied together, row by row: as many as registers hold the column operands of. Rows of the result,
  /// and of what is added to it, lie far apart: hardware prefetching does not find them where one line of each is read at a time.
  int64_t panelsAtOnce() { return hasAvx512(b.isa()) ? 4 : 1; }
  int64_t panelBytes() const { return weight.depth * kLineBytes; }
  Value copiedRows() { return b.atByte(b.scratch(), blocking.sumsBytes); }
  Value widenedPanels() { return b.atByte(b.scratch(), blocking.sumsBytes + blocking.rowsBytes); }
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
  ContractBlocking blocking;
  InterleavedRows interleaved;
  int64_t group; // of the weight
  Type sumType;
  SmallVector<Extra> extras;
  Type element; // of the result
  Value rowBegin, rowEnd, panelBegin, panelEnd; // this thread's share
  Value chunkBegin, chunkRows, blocks;          // the chunk's first row, how many there are, and blocks of them
  Value isCopied;                               // whether its rows are interleaved; null: never
  Value following, followingPanels;             // of the next product's weight: this thread's first panel, and how many there are in all
  Value behind, isFollowed;                     // address of what is read behind a chunk's last panels, and whether there is anything
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
  Value rows = b.sub(rowEnd, rowBegin), chunks = b.ceilDiv(rows, ContractBlocking::kChunkRows);
  b.loop(b.i64(0), chunks, 1, [&](Value i) {
    auto [first, end] = b.part(rows, i, chunks);
    chunk(b.add(rowBegin, first), b.add(rowBegin, end), b.equal(b.add(i, 1), chunks));
  });
}

std::pair<Value, Value> Contract::rowsOfBlock(Value block) {
  // As equal as can be: 13 rows are 7 and 6, not 12 and 1.
  auto [first, end] = b.part(chunkRows, block, blocks);
  return {b.add(chunkBegin, first), b.sub(end, first)};
}

Value Contract::addressOfRow(Value row, const Part &part) {
  Value start = b.at(b.data(rowsView), b.mul(row, b.stride(rowsView, 0)), weight.rowType);
  return b.at(start, b.mul(part.begin, group), weight.rowType);
}

void Contract::chunk(Value begin, Value end, Value isLast) {
  chunkBegin = begin, chunkRows = b.sub(end, begin), blocks = b.ceilDiv(chunkRows, blocking.tileRows);
  // Behind the last panels the next chunk begins with the first ones again.
  behind = b.create<arith::SelectOp>(isLast, following, panelAddress(panelBegin));
  isFollowed = b.less(b.i64(0), b.create<arith::SelectOp>(isLast, followingPanels, b.i64(1)));
  behindBytes = b.create<arith::SelectOp>(isLast, b.stride(followingView(), 0), b.i64(panelBytes()));
  Value areSeveral = b.less(b.i64(1), blocks), depth = b.i64(weight.wholeGroups);
  if (blocking.copiesRows) {
    Value hasPanels = b.less(b.i64(blocking.minPanels - 1), b.sub(panelEnd, panelBegin));
    isCopied = b.both(b.less(b.i64(blocking.minBlocks - 1), blocks), hasPanels);
  }
  if (blocking.parts == 1)
    return multiply({panelBegin, panelEnd}, {b.i64(0), depth});
  b.loop(panelBegin, panelEnd, blocking.sectionPanels, [&](Value first) {
    Section section{first, b.min(b.add(first, blocking.sectionPanels), panelEnd)};
    // A single block of rows reads its panels once: they are one run of lines.
    Value parts = b.create<arith::SelectOp>(areSeveral, b.i64(blocking.parts), b.i64(1));
    b.loop(b.i64(0), parts, 1, [&](Value i) {
      auto [first, end] = b.part(depth, i, parts);
      multiply(section, {first, end});
    });
  });
}

void Contract::multiply(const Section &section, const Part &part) {
  if (blocking.copiesRows)
    b.ifThen(isCopied, [&] { interleave(part); });
  Value blockPanels = b.i64(blocking.blockPanels), panels = b.sub(section.end, section.firstPanel);
  if (blocking.widens)
    blockPanels = b.create<arith::SelectOp>(isCopied, b.i64(blocking.widenedPanels), blockPanels);
  b.loop(b.i64(0), b.div(b.sub(b.add(panels, blockPanels), 1), blockPanels), 1, [&](Value i) {
    Value first = b.mul(i, blockPanels), panel = b.add(section.firstPanel, first), count = b.min(blockPanels, b.sub(panels, first));
    if (blocking.widens)
      b.ifThen(isCopied, [&] { widen(part, panel, count); });
    b.loop(b.i64(0), blocks, 1, [&](Value i) {
      auto [firstRow, rowCount] = rowsOfBlock(i);
      multiply({section, part, panel, count, b.add(panel, blockPanels), firstRow, rowCount, i});
    });
  });
}

void Contract::multiply(const Turn &turn) {
  Sums sums = locateSums(turn);
  Value isPart = b.less(turn.part.end, b.i64(weight.wholeGroups)); // and not the last one
  ProductOperands operands{};
  operands.rows = turn.rowCount, operands.panels = turn.panelCount;
  operands.c = sums.address, operands.ldc = sums.rowStride, operands.accumulates = b.less(b.i64(0), turn.part.begin);
  if (blocking.widens)
    b.ifElse(isCopied, [&] { multiplyCopies(turn, operands, isPart); }, [&] { multiplyOriginals(turn, operands, isPart); });
  else
    multiplyOriginals(turn, operands, isPart);
  if (!isBare())
    b.ifElse(isPart, [] {}, [&] { epilogue(sums, turn.firstPanel, turn.panelCount); });
}

void Contract::multiplyOriginals(const Turn &turn, ProductOperands operands, Value isPart) {
  operands.a = addressOfRow(turn.firstRow, turn.part), operands.lda = b.stride(rowsView, 0);
  if (blocking.copiesRows && !blocking.widens) {
    auto choose = [&](Value copy, Value original) { return b.create<arith::SelectOp>(isCopied, copy, original); };
    operands.a = choose(interleaved.at(b, copiedRows(), turn.rowBlock), operands.a);
    operands.lda = choose(b.i64(1), operands.lda), operands.step = choose(b.i64(InterleavedRows::kPitch), b.i64(1));
  }
  operands.b = partOfPanel(turn.firstPanel, turn.part), operands.panelStride = b.i64(weight.panelElements);
  operands.depth = b.sub(turn.part.end, turn.part.begin);
  prefetchNext(turn, isPart, kLineBytes, operands);
  callBlockProduct(b, operands, weight.kind(access.weightsStream), b.equal(blocks, b.i64(1)));
}

void Contract::multiplyCopies(const Turn &turn, ProductOperands operands, Value isPart) {
  operands.a = interleaved.at(b, copiedRows(), turn.rowBlock), operands.lda = b.i64(1), operands.step = b.i64(InterleavedRows::kPitch);
  operands.b = widenedPanels(), operands.panelStride = b.i64(blocking.partLines * kLanes);
  operands.depth = b.mul(groupsOf(turn.part), group);
  prefetchNext(turn, isPart, kLineBytes / group, operands);
  callBlockProduct(b, operands, {.factor = Factor::f32, .isShared = true});
}

void Contract::interleave(const Part &part) {
  Value length = b.sub(b.mul(groupsOf(part), group), weight.tail ? group - weight.tail : 0);
  b.loop(b.i64(0), blocks, 1, [&](Value i) {
    auto [firstRow, rowCount] = rowsOfBlock(i);
    interleaved.copy(b, {weight.rowType, addressOfRow(firstRow, part), b.stride(rowsView, 0)}, rowCount, length, copiedRows(), i);
  });
}

void Contract::widen(const Part &part, Value firstPanel, Value count) {
  PairPanels panels{partOfPanel(firstPanel, part), b.i64(panelBytes()), count, groupsOf(part)};
  widenPanels(b, panels, widenedPanels(), b.i64(blocking.partLines * kLineBytes));
}

Contract::Sums Contract::locateSums(const Turn &turn) {
  if (isBare()) {
    Value stride = b.stride(result, 0), row = b.at(b.data(result), b.mul(turn.firstRow, stride), sumType);
    return {b.at(row, b.mul(turn.firstPanel, kLanes), sumType), stride, turn.firstRow, turn.rowCount};
  }
  Value start = b.scratch(), stride = b.i64(blocking.sumsStride);
  if (blocking.parts > 1) { // all of the chunk's sums wait for the next part
    start = b.at(start, b.mul(b.sub(turn.firstRow, chunkBegin), stride), sumType);
    start = b.at(start, b.mul(b.sub(turn.firstPanel, turn.section.firstPanel), kLanes), sumType);
  }
  return {start, stride, turn.firstRow, turn.rowCount};
}

void Contract::prefetchNext(const Turn &turn, Value isPart, int64_t stepBytes, ProductOperands &operands) {
  const Section &section = turn.section;
  auto choose = [&](Value condition, Value then, Value otherwise) { return b.create<arith::SelectOp>(condition, then, otherwise); };
  Value isInPart = b.less(turn.nextPanel, section.end), isInShare = b.less(section.end, panelEnd);
  Value next = choose(isInShare, panelAddress(section.end), behind);
  next = choose(isPart, partOfPanel(section.firstPanel, {turn.part.end, nullptr}), next);
  next = choose(isInPart, partOfPanel(turn.nextPanel, turn.part), next);
  Value isHere = b.create<arith::OrIOp>(isInPart, b.create<arith::OrIOp>(isPart, isInShare));
  // Several blocks of rows begin with a part of each panel; one takes a panel after the other.
  Value bytes = choose(isHere, b.i64(panelBytes()), behindBytes);
  Value isStrided = b.both(b.less(b.i64(1), blocks), b.less(b.i64(blocking.maxPartBytes), bytes));
  PanelsAhead panels{next, b.sub(turn.nextPanel, turn.firstPanel), b.create<arith::OrIOp>(isHere, isFollowed), isStrided, bytes, stepBytes};
  shareAhead(b, operands, panels, turn.rowBlock, blocks);
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
      for (auto [index, extra] : llvm::enumerate(extras))
        if (extra.byRow)
          region.bind(body.getArgument(1 + index), loadExtra(extra, row, columns[panel], lanes));
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
