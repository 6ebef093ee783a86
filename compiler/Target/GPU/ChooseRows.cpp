// What the first kernel of xf.choose finds in a tile's rows of 128 logits, each warp in some rows at a time.
//
// 16 lanes find a row's maximum, and its sum in the CPU's order, so that a warp does two rows at once. A whole warp finds its
// candidates: a lane has four neighbouring columns, and their keys in descending order. The warp's greatest head is the next candidate,
// of equal ones that of the lowest lane, which is that of the lowest column; its lane notes the column and goes on to its next key. These
// steps depend on each other, and each has a latency beyond its instructions: a warp interleaves the steps of its rows.
#include "compiler/Target/GPU/ChooseKernel.h"
#include "compiler/Target/VectorMath.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf::gpu {
namespace {

constexpr int64_t kLanes = codegen::kLanes, kPanels = ChooseOp::kBlock / kLanes;
/// Columns of a lane that looks for candidates.
constexpr int64_t kColumns = ChooseOp::kBlock / kWarp;
static_assert(kColumns == 4, "a lane's columns are the bytes of a word");

class ChooseRows {
public:
  ChooseRows(GpuBuilder &b, ChooseViews &views, const ChooseTile &tile)
      : b(b), i32(b.getI32Type()), views(views), tile(tile), warps(tile.threads / kWarp), together(std::min<int64_t>(4, tile.rows / warps)),
        perRow(ChooseTile::foundPerRow(views.maxCandidates)) {
    // 16 lanes of one row and 16 of another read different banks.
    while (rowStep < warps && rowStep * tile.stride % kWarp != kWarp / 2)
      rowStep *= 2;
    assert(tile.rows % (warps * together) == 0 && warps % rowStep == 0 && tile.stride % kColumns == 0);
  }

  void emit() {
    b.loop(b.i64(0), b.i64(tile.rows), warps * together, [&](Value first) {
      Value group = b.add(b.mul(b.div(b.warp(), rowStep), rowStep * together), b.rem(b.warp(), rowStep));
      Value own = b.add(first, group);
      findNorms(own);
      findCandidates(own);
    });
    b.barrier();
    storeCandidates();
  }

private:
  /// The remaining keys of a lane in a row, descending, and their columns, a byte each from the lowest on. Columns are counted from 1, as
  /// zeros follow them.
  struct LaneKeys {
    SmallVector<Value> keys;
    Value columns;
  };

  Value logitAt(Value local, Value column) { return b.at(tile.logits, b.add(b.mul(local, tile.stride), column), b.getF32Type()); }
  Value foundAt(Value local, Value rank) { return b.at(tile.found, b.add(b.mul(local, perRow), rank), b.getI8Type()); }
  Value exists(Value local) { return b.less(b.add(tile.firstRow, local), views.rows); }

  void findNorms(Value own);
  void findCandidates(Value own);
  void storeCandidates();
  LaneKeys readLaneKeys(Value local);
  void sortNeighbours(LaneKeys &own, int64_t first);
  Value prmt(Value bytes, int64_t selector);

  GpuBuilder &b;
  Type i32;
  ChooseViews &views;
  const ChooseTile &tile;
  int64_t warps, together; // rows of a warp
  int64_t rowStep = 1;     // from one of them to the next
  int64_t perRow;
};

/// The maxima and sums of the warp's rows, of which the first one is `own`.
void ChooseRows::findNorms(Value own) {
  Type f32 = b.getF32Type();
  Value lane = b.rem(b.lane(), kLanes), half = b.div(b.lane(), kLanes);
  Value greatest = b.f32(std::numeric_limits<float>::max());
  // A warp that has one row has it twice.
  Value firstLane = together == 1 ? b.lane() : lane;
  Value ownLanes = b.create<arith::ShLIOp>(b.i32(0xffff), b.narrow(b.mul(half, kLanes)));
  struct Half {
    Value row, stores, largest;
    SmallVector<Value> logits;
  };
  SmallVector<Half> halves;
  for (int64_t i = 0; i < together; i += 2) {
    Value local = b.add(own, i * rowStep);
    if (together > 1)
      local = b.add(local, b.mul(half, rowStep));
    Half h{b.add(tile.firstRow, local), b.both(exists(local), b.equal(firstLane, b.i64(0))), noLogit(b), {}};
    Value isNonFinite = b.falseValue();
    for (int64_t panel = 0; panel < kPanels; ++panel) {
      Value x = b.load(f32, logitAt(local, b.add(lane, panel * kLanes)));
      h.logits.push_back(x);
      h.largest = codegen::maximum(b, x, h.largest);
      isNonFinite = b.either(isNonFinite, compare(b, arith::CmpFPredicate::UGT, x, greatest));
    }
    h.largest = b.reduceOver(ReduceKind::max, h.largest, kLanes);
    Value anyNonFinite = b.create<arith::AndIOp>(b.ballot(isNonFinite), ownLanes);
    b.ifThen(h.stores, [&] { storeLargest(b, h.largest, anyNonFinite, views.maximumAt(h.row, tile.columnBlock)); });
    halves.push_back(h);
  }
  b.ifThen(views.sums, [&] {
    for (const Half &h : halves) {
      Value shift = shiftOf(b, h.largest), sum = b.f32(0);
      for (Value x : h.logits)
        sum = b.create<arith::AddFOp>(sum, codegen::boundedExp(b, b.create<arith::SubFOp>(x, shift)));
      sum = b.reduceOver(ReduceKind::sum, sum, kLanes);
      b.ifThen(h.stores, [&] { b.store(sum, views.sumAt(h.row, tile.columnBlock)); });
    }
  });
}

ChooseRows::LaneKeys ChooseRows::readLaneKeys(Value local) {
  LaneKeys own;
  for (Value x : b.loadMany(logitAt(local, b.mul(b.lane(), kColumns)), kColumns))
    own.keys.push_back(keyOf(b, x));
  own.columns = b.create<arith::AddIOp>(b.create<arith::MulIOp>(b.narrow(b.lane()), b.i32(0x04040404)), b.i32(0x04030201));
  return own;
}

Value ChooseRows::prmt(Value bytes, int64_t selector) {
  Value operands[] = {bytes, bytes, b.i32(selector)};
  return b.create<LLVM::CallIntrinsicOp>(i32, b.getStringAttr("llvm.nvvm.prmt"), operands).getResults();
}

/// Swaps key `first` and the next one if the latter is greater: equal ones stay in the order of their columns.
void ChooseRows::sortNeighbours(LaneKeys &own, int64_t first) {
  constexpr int64_t kSwapped[] = {0x3201, 0x3120, 0x2310};
  Value &x = own.keys[first], &y = own.keys[first + 1];
  Value isLess = b.create<arith::CmpIOp>(arith::CmpIPredicate::slt, x, y);
  own.columns = select(b, isLess, prmt(own.columns, kSwapped[first]), own.columns);
  Value greater = b.create<arith::MaxSIOp>(x, y);
  y = b.create<arith::MinSIOp>(x, y);
  x = greater;
}

/// Notes the columns of the candidates of the warp's rows. Those after the last candidate are columns of -inf, or none.
void ChooseRows::findCandidates(Value own) {
  SmallVector<Value> locals;
  SmallVector<LaneKeys> rows;
  for (int64_t i = 0; i < together; ++i) {
    locals.push_back(b.add(own, i * rowStep));
    rows.push_back(readLaneKeys(locals[i]));
    for (int64_t first : {2, 1, 0})
      sortNeighbours(rows[i], first);
  }
  auto carry = [&] {
    SmallVector<Value> values;
    for (const LaneKeys &row : rows) {
      llvm::append_range(values, row.keys);
      values.push_back(row.columns);
    }
    return values;
  };
  auto take = [&](ValueRange values) {
    for (auto [i, row] : llvm::enumerate(rows)) {
      ValueRange ofRow = values.slice(i * (kColumns + 1), kColumns + 1);
      row = {llvm::to_vector(ofRow.take_front(kColumns)), ofRow.back()};
    }
  };
  // If one candidate is wanted, a lane's second key is never used.
  auto sortRest = [&] {
    for (LaneKeys &row : rows)
      for (int64_t first : {2, 1, 2})
        sortNeighbours(row, first);
    return carry();
  };
  SmallVector<Value> heads = carry();
  take(b.choose(b.less(b.i64(1), views.wanted), sortRest, [&] { return heads; }));
  b.loop(b.i64(0), b.min(views.wanted, b.i64(perRow)), 1, carry(), [&](Value rank, ValueRange before) {
    take(before);
    SmallVector<Value> after;
    for (auto [row, local] : llvm::zip(rows, locals)) {
      SmallVector<Value> now = row.keys;
      now.push_back(row.columns);
      llvm::append_range(after, b.choose(
                                    bestOfWarp(b, row.keys[0]).isOwn,
                                    [&, row = row, local = local] {
                                      b.store(b.create<arith::TruncIOp>(b.getI8Type(), row.columns), foundAt(local, rank));
                                      return SmallVector<Value>{row.keys[1], row.keys[2], row.keys[3], noKey(b),
                                                                b.create<arith::ShRUIOp>(row.columns, b.i32(8))};
                                    },
                                    [&] { return now; }));
    }
    return after;
  });
}

/// Neighbouring threads store neighbouring ranks.
void ChooseRows::storeCandidates() {
  b.loop(b.thread(), b.i64(tile.rows * views.maxCandidates), tile.threads, [&](Value i) {
    Value local = b.divide(i, b.i64(views.maxCandidates)), rank = b.remainder(i, b.i64(views.maxCandidates));
    b.ifThen(b.both(exists(local), b.less(rank, views.wanted)), [&] {
      Value byte = b.load(b.getI8Type(), foundAt(local, b.min(rank, b.i64(perRow - 1))));
      Value own = b.sub(b.create<arith::ExtUIOp>(b.getI64Type(), byte), 1);
      Value logit = b.load(b.getF32Type(), logitAt(local, b.max(own, b.i64(0))));
      Value isThere = b.both(b.less(b.i64(-1), own), b.less(rank, b.i64(perRow)));
      isThere = b.both(isThere, compare(b, arith::CmpFPredicate::OGT, logit, noLogit(b)));
      Candidate none = noCandidate(b);
      Value column = b.narrow(b.add(b.mul(tile.columnBlock, ChooseOp::kBlock), own));
      views.store({select(b, isThere, logit, none.logit), select(b, isThere, column, none.column)}, b.add(tile.firstRow, local), tile.columnBlock,
                  rank);
    });
  });
}

} // namespace

void emitChooseRows(GpuBuilder &b, ChooseViews &views, const ChooseTile &tile) { ChooseRows(b, views, tile).emit(); }

} // namespace xf::gpu
