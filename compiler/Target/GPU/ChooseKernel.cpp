// The kernels of xf.choose, in f32: logits stay in shared memory and registers.
//
// The first one computes some rows of 128 columns, whose exponentials are one sum (ChooseOp::kBlock). 16 lanes then take a
// row: its maximum, its sum in the CPU's order, and the best candidates, which leave their lane one by one. The second one
// (ChooseMerge.cpp) joins the blocks. Few rows, as of one sentence, get smaller tiles.
#include "compiler/Target/GPU/ChooseKernel.h"

#include "compiler/Target/CPU/RegionVectorizer.h"
#include "compiler/Target/CPU/VectorMath.h"
#include "compiler/Target/GPU/ChooseProduct.h"

#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace mlir::xf;

namespace xf::gpu {

static Value compare(GpuBuilder &b, arith::CmpFPredicate predicate, Value x, Value y) {
  return b.create<arith::CmpFOp>(predicate, x, y);
}
static Value select(GpuBuilder &b, Value condition, Value x, Value y) { return b.create<arith::SelectOp>(condition, x, y); }
static Value i32Of(GpuBuilder &b, Value number) { return b.create<arith::TruncIOp>(b.getI32Type(), number); }
static Value noLogit(GpuBuilder &b) { return b.f32(-std::numeric_limits<double>::infinity()); }

Candidate noCandidate(GpuBuilder &b) { return {noLogit(b), b.create<arith::ConstantIntOp>(b.getI32Type(), -1)}; }

Candidate greaterOf(GpuBuilder &b, const Candidate &first, const Candidate &next) {
  Value greater = compare(b, arith::CmpFPredicate::OGT, next.logit, first.logit);
  return {select(b, greater, next.logit, first.logit), select(b, greater, next.column, first.column)};
}

Candidate bestOf(GpuBuilder &b, const Candidate &x, const Candidate &y) {
  // No column at all, -1, is the last of them.
  Value before = b.create<arith::CmpIOp>(arith::CmpIPredicate::ult, y.column, x.column);
  Value equal = compare(b, arith::CmpFPredicate::OEQ, y.logit, x.logit);
  Value better = b.create<arith::OrIOp>(compare(b, arith::CmpFPredicate::OGT, y.logit, x.logit),
                                        b.create<arith::AndIOp>(equal, before));
  return {select(b, better, y.logit, x.logit), select(b, better, y.column, x.column)};
}

Candidate bestOver(GpuBuilder &b, Candidate candidate, int64_t lanes) {
  for (int64_t distance = lanes / 2; distance >= 1; distance /= 2)
    candidate = bestOf(b, candidate, {b.exchange(candidate.logit, distance), b.exchange(candidate.column, distance)});
  return candidate;
}

KeptCandidates::KeptCandidates(GpuBuilder &b, Value thread, int64_t threads, int64_t most) : b(b) {
  for (int64_t first = 0; first < most; first += threads) {
    places.push_back(b.add(thread, first));
    kept.push_back(noCandidate(b));
  }
}
SmallVector<Value> KeptCandidates::values() const {
  SmallVector<Value> values;
  for (const Candidate &candidate : kept)
    values.append({candidate.logit, candidate.column});
  return values;
}
void KeptCandidates::take(ValueRange carried) {
  for (auto [i, candidate] : llvm::enumerate(kept))
    candidate = {carried[2 * i], carried[2 * i + 1]};
}
void KeptCandidates::keep(const Candidate &candidate, Value place) {
  for (auto [own, mine] : llvm::zip(kept, places)) {
    Value isMine = b.equal(mine, place);
    own = {select(b, isMine, candidate.logit, own.logit), select(b, isMine, candidate.column, own.column)};
  }
}
void KeptCandidates::forEach(Value end, function_ref<void(const Candidate &, Value)> store) const {
  for (auto [own, mine] : llvm::zip(kept, places))
    b.ifThen(b.less(mine, end), [&, own = own, mine = mine] { store(own, mine); });
}

Value shiftOf(GpuBuilder &b, Value largest) {
  return select(b, compare(b, arith::CmpFPredicate::OEQ, largest, noLogit(b)), b.f32(0), largest);
}

void storeLargest(GpuBuilder &b, Value largest, Value isOdd, Value address) {
  Value odd = b.create<arith::CmpIOp>(arith::CmpIPredicate::ne, isOdd, b.create<arith::ConstantIntOp>(b.getI32Type(), 0));
  b.store(select(b, odd, b.f32(std::numeric_limits<double>::quiet_NaN()), largest), address);
}

ChooseViews::ChooseViews(GpuBuilder &b, ChooseOp op, const KernelRequest &request)
    : result(request.resultView()), blocks(ChooseOp::countBlocks(op.getColumns())), most(op.getMost()), b(b),
      paddedBlocks(llvm::alignTo(blocks, cpu::kLanes)) {
  Type i32 = b.getI32Type();
  rows = b.size(rowsView, 1 - op.getAxis());
  wanted = b.min(b.toI64(b.load(i32, b.data(optionsView))), b.i64(most));
  sums = b.create<arith::CmpIOp>(arith::CmpIPredicate::ne, b.load(i32, b.at(b.data(optionsView), 1, i32)),
                                 b.create<arith::ConstantIntOp>(i32, 0));
}

Value ChooseViews::maximumAt(Value row, Value block) {
  return b.at(b.data(result + 3), b.add(b.mul(row, b.stride(result + 3, 0)), block), b.getF32Type());
}
Value ChooseViews::sumAt(Value row, Value block) { return maximumAt(row, b.add(block, paddedBlocks)); }
Value ChooseViews::logitAt(Value row, Value block, Value place) {
  return maximumAt(row, b.add(b.add(b.mul(block, 2 * most), place), 2 * paddedBlocks));
}
Value ChooseViews::columnOf(Value logitAddress) { return b.at(logitAddress, most, b.getI32Type()); }

Candidate ChooseViews::load(Value row, Value block, Value place) {
  Value address = logitAt(row, block, place);
  return {b.load(b.getF32Type(), address), b.load(b.getI32Type(), columnOf(address))};
}
void ChooseViews::store(const Candidate &candidate, Value row, Value block, Value place) {
  Value address = logitAt(row, block, place);
  b.store(candidate.logit, address);
  b.store(candidate.column, columnOf(address));
}
void ChooseViews::storeResult(const Candidate &candidate, Value row, Value place) {
  auto at = [&](unsigned view, Type element) {
    return b.at(b.data(view), b.add(b.mul(row, b.stride(view, 0)), place), element);
  };
  b.store(candidate.logit, at(result, b.getF32Type()));
  b.store(candidate.column, at(result + 1, b.getI32Type()));
}

namespace {

constexpr int64_t kLanes = cpu::kLanes, kPanels = ChooseOp::kBlock / kLanes, kWords = ChooseOp::kBlock / 32;
constexpr int64_t kRowStride = ChooseOp::kBlock + kLanes; // of logits in shared memory: two rows of 16 lanes share no bank
// Weights are read once for as many rows as a tile has; a few rows' tiles have more of them under way.
constexpr TileShape kFew{4, 4, 1, 32}, kMany{32, 4, 4, 16};
constexpr int64_t kFewRows = 8;

class ChooseBlock {
public:
  ChooseBlock(GpuBuilder b, ChooseOp op, const KernelRequest &request, const TileShape &shape)
      : b(std::move(b)), op(op), request(request), shape(shape), views(this->b, op, request), axis(op.getAxis()) {
    auto weight = cast<RankedTensorType>(op.getWeight().getType());
    columns = weight.getDimSize(0);
    depth = weight.getDimSize(1);
  }

  void emit();

private:
  void findBarred();
  Value panelIsNeeded(Value panel);
  void skip();
  void work();
  void storeLogits(ArrayRef<Value> products);
  Value wordsOf(Value row);
  Value logit(Value product, Value row, Value column);
  Value extra(unsigned number, Value row, Value column);
  void lookAt(Value local, Value exists);
  /// Rows behind the last one are computed as the last one, and not stored.
  Value existing(Value row) { return b.min(row, b.sub(views.rows, 1)); }

  GpuBuilder b;
  ChooseOp op;
  const KernelRequest &request;
  TileShape shape;
  ChooseViews views;
  unsigned axis;
  int64_t columns, depth;
  Value last;             // position
  Value number, firstRow; // of the block of columns; of the tile's rows
  SmallVector<Value> barred; // words of columns that none of the rows may choose
  Value logits;           // shared, [rows][kRowStride]
};

void ChooseBlock::emit() {
  last = b.sub(b.size(ChooseViews::rowsView, axis), 1);
  // Blocks that run together read the same weights.
  Value tiles = b.ceilDiv(views.rows, shape.rows);
  number = b.divide(b.block(), tiles);
  firstRow = b.mul(b.remainder(b.block(), tiles), shape.rows);
  findBarred();
  Value all = barred[0];
  for (Value word : ArrayRef<Value>(barred).drop_front())
    all = b.create<arith::AndIOp>(all, word);
  Value none = b.create<arith::CmpIOp>(arith::CmpIPredicate::eq, all, b.create<arith::ConstantIntOp>(b.getI32Type(), -1));
  b.ifElse(none, [&] { skip(); }, [&] { work(); });
  b.finish();
}

/// The address of the row's bits for the block's columns.
Value ChooseBlock::wordsOf(Value row) {
  Value kind = loadIndex(b, ChooseViews::classesView, row);
  Value offset = b.add(b.mul(kind, b.stride(ChooseViews::forbiddenView, 0)), b.mul(number, kWords));
  return b.at(b.data(ChooseViews::forbiddenView), offset, b.getI32Type());
}

/// Each warp finds out for itself, a lane a row.
void ChooseBlock::findBarred() {
  Type i32 = b.getI32Type();
  Value words = wordsOf(existing(b.add(firstRow, b.rem(b.lane(), b.i64(shape.rows)))));
  for (int64_t i = 0; i < kWords; ++i) {
    Value bits = b.load(i32, b.at(words, i, i32));
    for (int64_t distance = shape.rows / 2; distance >= 1; distance /= 2)
      bits = b.create<arith::AndIOp>(bits, b.exchange(bits, distance));
    barred.push_back(bits);
  }
}

Value ChooseBlock::panelIsNeeded(Value panel) {
  Type i32 = b.getI32Type();
  Value word = b.div(panel, b.i64(2)), bits = barred[0];
  for (int64_t i = 1; i < kWords; ++i)
    bits = select(b, b.equal(word, b.i64(i)), barred[i], bits);
  Value half = i32Of(b, b.mul(b.rem(panel, b.i64(2)), kLanes));
  Value own = b.create<arith::TruncIOp>(b.getI16Type(), b.create<arith::ShRUIOp>(i32, bits, half));
  return b.create<arith::CmpIOp>(arith::CmpIPredicate::ne, own, b.create<arith::ConstantIntOp>(b.getI16Type(), -1));
}

/// Nobody may choose any of the columns.
void ChooseBlock::skip() {
  Value row = b.add(firstRow, b.thread());
  Value exists = b.create<arith::AndIOp>(b.less(b.thread(), b.i64(shape.rows)), b.less(row, views.rows));
  b.ifThen(exists, [&] {
    b.store(noLogit(b), views.maximumAt(row, number));
    b.store(b.f32(0), views.sumAt(row, number));
    b.loop(b.i64(0), views.wanted, 1, [&](Value place) { views.store(noCandidate(b), row, number, place); });
  });
}

void ChooseBlock::work() {
  Type f32 = b.getF32Type();
  auto x = [&](Value row, Value k) {
    Value offset = b.add(b.mul(last, b.stride(ChooseViews::rowsView, axis)),
                         b.mul(existing(b.add(firstRow, row)), b.stride(ChooseViews::rowsView, 1 - axis)));
    return b.at(b.data(ChooseViews::rowsView), b.add(offset, k), f32);
  };
  auto weights = [&](Value panel) {
    Value existingPanel = b.min(b.add(b.mul(number, kPanels), panel), b.i64(llvm::divideCeil(columns, kLanes) - 1));
    return b.at(b.data(ChooseViews::weightView), b.mul(existingPanel, depth * kLanes), f32);
  };
  auto isNeeded = [&](Value panel) { return panelIsNeeded(panel); };
  logits = b.shared(f32, shape.rows * kRowStride);
  storeLogits(multiplyTile(b, shape, {depth, x, weights, isNeeded}));
  b.barrier();
  int64_t groups = shape.threads() / kLanes;
  Value group = b.div(b.thread(), b.i64(kLanes));
  for (int64_t first = 0; first < shape.rows; first += groups) {
    Value local = b.add(b.rem(group, b.i64(std::min(groups, shape.rows))), first);
    Value exists = b.create<arith::AndIOp>(b.less(group, b.i64(shape.rows)), b.less(b.add(firstRow, local), views.rows));
    lookAt(local, exists);
  }
}

Value ChooseBlock::extra(unsigned number, Value row, Value column) {
  unsigned view = ChooseViews::firstExtra + number;
  Type element = cast<RankedTensorType>(op.getExtras()[number].getType()).getElementType();
  Value offset = b.i64(0);
  for (auto [d, target] : llvm::enumerate(op.getMap(number))) {
    if (target < 0)
      continue;
    Value index = target == 2 ? column : target == axis ? last : row;
    bool constant = target == 2 && !ShapedType::isDynamic(request.access.lastStride[view]);
    Value stride = constant ? b.i64(request.access.lastStride[view]) : b.stride(view, d);
    offset = b.add(offset, b.mul(index, stride));
  }
  return b.load(element, b.at(b.data(view), offset, element));
}

Value ChooseBlock::logit(Value product, Value row, Value column) {
  Block &body = op.getBody().front();
  cpu::RegionVectorizer region(b);
  region.bind(body.getArgument(0), product);
  for (unsigned i = 0; i < op.getExtras().size(); ++i)
    region.bind(body.getArgument(1 + i), extra(i, row, column));
  return region.emit(body.getTerminator()->getOperand(0));
}

/// Puts the thread's logits into shared memory, -inf where the row may not choose.
void ChooseBlock::storeLogits(ArrayRef<Value> products) {
  Type f32 = b.getF32Type(), i32 = b.getI32Type();
  Value own = shape.ownColumn(b), firstColumn = b.add(b.mul(number, ChooseOp::kBlock), own);
  Value zero = b.create<arith::ConstantIntOp>(i32, 0);
  for (int64_t i = 0; i < shape.ownRows; ++i) {
    Value local = b.add(shape.ownRow(b), i), row = existing(b.add(firstRow, local));
    // A thread's columns share a word.
    Value word = b.load(i32, b.at(wordsOf(row), b.div(own, b.i64(32)), i32));
    SmallVector<Value> values;
    for (int64_t j = 0; j < shape.ownColumns; ++j) {
      Value column = b.add(firstColumn, j), bit = i32Of(b, b.rem(b.add(own, j), b.i64(32)));
      Value mask = b.create<arith::ShLIOp>(b.create<arith::ConstantIntOp>(i32, 1), bit);
      Value allowed = b.create<arith::CmpIOp>(arith::CmpIPredicate::eq, b.create<arith::AndIOp>(word, mask), zero);
      allowed = b.create<arith::AndIOp>(allowed, b.less(column, b.i64(columns)));
      Value value = logit(products[i * shape.ownColumns + j], row, b.min(column, b.i64(columns - 1)));
      values.push_back(select(b, allowed, value, noLogit(b)));
    }
    b.storeMany(values, b.at(logits, b.add(b.mul(local, kRowStride), own), f32));
  }
}

/// 16 lanes look at row `local` of the tile, which they leave alone unless it `exists`.
void ChooseBlock::lookAt(Value local, Value exists) {
  Type f32 = b.getF32Type(), i32 = b.getI32Type();
  Value lane = b.rem(b.thread(), b.i64(kLanes)), row = b.add(firstRow, local);
  Value stores = b.create<arith::AndIOp>(exists, b.equal(lane, b.i64(0)));
  Value greatest = b.f32(std::numeric_limits<float>::max()), largest = noLogit(b);
  Value isOdd = b.create<arith::ConstantIntOp>(b.getI1Type(), 0);
  SmallVector<Value> values, tokens;
  for (int64_t panel = 0; panel < kPanels; ++panel) {
    Value place = b.add(lane, panel * kLanes);
    Value x = b.load(f32, b.at(logits, b.add(b.mul(local, kRowStride), place), f32));
    values.push_back(x);
    tokens.push_back(i32Of(b, b.add(b.mul(number, ChooseOp::kBlock), place)));
    largest = cpu::maximum(b, x, largest);
    isOdd = b.create<arith::OrIOp>(isOdd, compare(b, arith::CmpFPredicate::UGT, x, greatest));
  }
  largest = b.reduceOver(ReduceKind::max, largest, kLanes);
  Value anyOdd = b.reduceOver(ReduceKind::max, b.create<arith::ExtUIOp>(i32, isOdd), kLanes);
  b.ifThen(stores, [&] { storeLargest(b, largest, anyOdd, views.maximumAt(row, number)); });
  b.ifThen(views.sums, [&] {
    Value shift = shiftOf(b, largest), sum = b.f32(0);
    for (Value x : values)
      sum = b.create<arith::AddFOp>(sum, cpu::expOfNegative(b, b.create<arith::SubFOp>(x, shift)));
    sum = b.reduceOver(ReduceKind::sum, sum, kLanes);
    b.ifThen(stores, [&] { b.store(sum, views.sumAt(row, number)); });
  });
  KeptCandidates kept(b, lane, kLanes, views.most);
  SmallVector<Value> carried = kept.values();
  llvm::append_range(carried, values);
  carried = b.loop(b.i64(0), views.wanted, 1, carried, [&](Value place, ValueRange before) {
    kept.take(before);
    ValueRange rest = before.take_back(values.size());
    Candidate best = noCandidate(b);
    for (auto [x, token] : llvm::zip(rest, tokens))
      best = greaterOf(b, best, {x, token});
    best = bestOver(b, best, kLanes);
    kept.keep(best, place);
    SmallVector<Value> after = kept.values();
    for (auto [x, token] : llvm::zip(rest, tokens)) {
      Value taken = b.create<arith::CmpIOp>(arith::CmpIPredicate::eq, token, best.column);
      after.push_back(select(b, taken, noLogit(b), x));
    }
    return after;
  });
  kept.take(carried);
  b.ifThen(exists, [&] {
    kept.forEach(views.wanted, [&](const Candidate &found, Value place) { views.store(found, row, number, place); });
  });
}

} // namespace

LogicalResult emitChoose(ChooseOp op, const KernelRequest &request, Kernel &kernel) {
  if (request.operands.size() != op->getNumOperands())
    return op.emitError("a matrix product reads per-sentence states through a copy only");
  for (Value factor : {op.getX(), op.getWeight()})
    if (!cast<RankedTensorType>(factor.getType()).getElementType().isF32())
      return op.emitError("GPU kernels choose tokens by products of f32 only");
  unsigned rowDim = 1 - op.getAxis();
  int64_t blocks = ChooseOp::countBlocks(op.getColumns());
  auto add = [&](StringRef suffix, const TileShape &shape, std::optional<Launch::Limit> limit) {
    std::string name = (request.name + suffix).str();
    ChooseBlock(request.start(name, shape.threads(), op.getLoc()), op, request, shape).emit();
    kernel.launches.push_back({name, shape.threads(), {{ChooseViews::rowsView, rowDim, shape.rows}}, 1, blocks, limit});
  };
  add("_few", kFew, Launch::Limit{ChooseViews::rowsView, rowDim, kFewRows});
  add("_many", kMany, std::nullopt);
  std::string merge = (request.name + "_merge").str();
  emitChooseMerge(request.start(merge, kMergeThreads, op.getLoc()), op, request);
  kernel.launches.push_back({merge, kMergeThreads, {{ChooseViews::rowsView, rowDim, 1}}, 1, 1, std::nullopt, 1});
  return success();
}

} // namespace xf::gpu
