// Joins the blocks of a row: sums are added in the CPU's order, and the best candidates are taken off the blocks' lists.
//
// Each of four warps takes the best candidates off a quarter of the lists, one by one; a thread has some of these lists, with their heads
// in registers. A step is an exchange, and a read of the list's next candidate, which mostly came to the L1 cache with its head. Lists in
// shared memory would spare that read, but they are as many as there are blocks. Then the rank of each candidate is the number of those
// before it, which threads count independently: no step waits for another warp. Meanwhile a fifth warp joins the norms.
#include "compiler/Target/GPU/ChooseKernel.h"
#include "compiler/Target/VectorMath.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf::gpu {
namespace {

constexpr int64_t kLanes = codegen::kLanes, kCandidateBytes = 8; // a key and an index

/// Fewer warps, with more lists each, where the candidates of all would not fit.
int64_t listWarpsFor(int64_t maxCandidates) { return kListWarps * maxCandidates * kCandidateBytes <= kSharedBytes ? kListWarps : kListWarps / 2; }

class ChooseMerge {
public:
  ChooseMerge(GpuBuilder &b, const ChooseShape &shape)
      : b(b), i32(b.getI32Type()), views(b, shape), listWarps(listWarpsFor(views.maxCandidates)),
        ownLists(llvm::divideCeil(views.blocks, listThreads())), row(b.block()) {
    b.setBlocksPerMultiprocessor(6); // leaves registers for the reads of norms
    views.readOptions();
    keys = b.shared(i32, listWarps * views.maxCandidates);
    indices = b.shared(i32, listWarps * views.maxCandidates);
  }

  void emit() {
    b.ifElse(b.less(b.thread(), b.i64(listThreads())), [&] { takeBest(); }, [&] { joinNorms(); });
    b.barrier();
    storeBest();
  }

private:
  Value compareIntegers(arith::CmpIPredicate predicate, Value x, Value y) { return b.create<arith::CmpIOp>(predicate, x, y); }
  Value keyAt(Value index) { return keyOf(b, views.loadLogit(row, b.toI64(index))); }

  int64_t listThreads() const { return listWarps * kWarp; }
  void takeBest();
  void storeBest();
  void joinNorms();
  Value rankOf(Value slot, Value key, Value count);

  GpuBuilder &b;
  Type i32;
  ChooseViews views;
  int64_t listWarps, ownLists; // a thread's
  Value row;
  /// Of the candidates that the warps have taken, by warp and then by step, so that equal keys are in the order of their columns. Shared.
  Value keys, indices;
};

void ChooseMerge::takeBest() {
  Value wanted = b.narrow(views.wanted);
  SmallVector<Value> ends, carried; // carried: of each list its head's key and index
  for (int64_t i = 0; i < ownLists; ++i) {
    // Lower lanes have lists of lower columns.
    Value list = b.add(b.mul(b.thread(), ownLists), i), exists = b.less(list, b.i64(views.blocks));
    Value begin = b.narrow(views.listBegin(b.min(list, b.i64(views.blocks - 1))));
    carried.append({select(b, exists, keyAt(begin), noKey(b)), begin});
    ends.push_back(b.create<arith::AddIOp>(begin, select(b, exists, wanted, b.i32(0))));
  }
  Value first = b.mul(b.warp(), views.wanted);
  b.loop(b.i64(0), views.wanted, 1, carried, [&](Value count, ValueRange heads) {
    Value greatest = heads[0];
    for (int64_t i = 1; i < ownLists; ++i)
      greatest = b.create<arith::MaxSIOp>(greatest, heads[2 * i]);
    Best best = bestOfWarp(b, greatest);
    // The first of the lane's lists that has it.
    SmallVector<Value> isTaken;
    Value index = heads[2 * ownLists - 1], end = ends[ownLists - 1], isLeft = best.isOwn;
    for (int64_t i = 0; i < ownLists; ++i) {
      isTaken.push_back(b.both(isLeft, compareIntegers(arith::CmpIPredicate::eq, heads[2 * i], best.key)));
      isLeft = b.create<arith::XOrIOp>(isLeft, isTaken[i]);
    }
    for (int64_t i = ownLists - 1; i-- > 0;) {
      index = select(b, isTaken[i], heads[2 * i + 1], index);
      end = select(b, isTaken[i], ends[i], end);
    }
    Value next = b.create<arith::AddIOp>(index, b.i32(1));
    Value isThere = b.both(best.isOwn, compareIntegers(arith::CmpIPredicate::slt, next, end));
    Value nextKey = b.chooseOne(isThere, [&] { return keyAt(next); }, [&] { return noKey(b); });
    b.ifThen(best.isOwn, [&] {
      Value slot = b.add(first, count);
      b.store(best.key, b.at(keys, slot, i32));
      b.store(index, b.at(indices, slot, i32));
    });
    SmallVector<Value> after;
    for (int64_t i = 0; i < ownLists; ++i)
      after.append({select(b, isTaken[i], nextKey, heads[2 * i]), select(b, isTaken[i], next, heads[2 * i + 1])});
    return after;
  });
}

/// How many of the `count` candidates are before that of `slot`.
Value ChooseMerge::rankOf(Value slot, Value key, Value count) {
  Value less = b.create<arith::SubIOp>(key, b.i32(1));
  return b.accumulate(b.i64(0), count, listWarps, b.i32(0), [&](Value first, Value before) {
    for (auto [i, other] : llvm::enumerate(b.loadMany(b.at(keys, first, i32), listWarps, i32))) {
      // Of equal ones those in lower slots.
      Value bound = select(b, b.less(b.add(first, i), slot), less, key);
      Value isBefore = compareIntegers(arith::CmpIPredicate::sgt, other, bound);
      before = b.create<arith::AddIOp>(before, b.create<arith::ExtUIOp>(i32, isBefore));
    }
    return before;
  });
}

void ChooseMerge::storeBest() {
  Value count = b.mul(views.wanted, listWarps);
  b.loop(b.thread(), count, kMergeThreads, [&](Value slot) {
    Value key = b.load(i32, b.at(keys, slot, i32)), rank = b.toI64(rankOf(slot, key, count));
    b.ifThen(b.less(rank, views.wanted), [&] {
      Candidate found = views.load(row, b.toI64(b.load(i32, b.at(indices, slot, i32)))), none = noCandidate(b);
      Value isThere = compareIntegers(arith::CmpIPredicate::sgt, key, noKey(b));
      views.storeResult({select(b, isThere, found.logit, none.logit), select(b, isThere, found.column, none.column)}, row, rank);
    });
  });
  b.loop(b.add(views.wanted, b.thread()), b.i64(views.maxCandidates), kMergeThreads,
         [&](Value rank) { views.storeResult(noCandidate(b), row, rank); });
}

/// Each of 16 lanes has every 16th block, and reads so many of them at once that it waits for memory once or twice.
void ChooseMerge::joinNorms() {
  Type f32 = b.getF32Type();
  int64_t rounds = llvm::divideCeil(views.blocks, kLanes), together = std::min<int64_t>(rounds, 16);
  Value lane = b.rem(b.thread(), kLanes), isFirst = b.equal(b.thread(), b.i64(listThreads()));
  auto forBlocks = [&](ValueRange carried, bool withSums, function_ref<SmallVector<Value>(Value maximum, Value sum, ValueRange before)> body) {
    return b.loop(b.i64(0), b.i64(rounds), together, carried, [&](Value first, ValueRange before) {
      SmallVector<Value> exist, maxima, sums, now(before);
      for (int64_t i = 0; i < together; ++i) {
        Value block = b.add(b.mul(b.add(first, i), kLanes), lane), existing = b.min(block, b.i64(views.blocks - 1));
        exist.push_back(b.less(block, b.i64(views.blocks)));
        maxima.push_back(b.load(f32, views.maximumAt(row, existing)));
        sums.push_back(withSums ? b.load(f32, views.sumAt(row, existing)) : Value());
      }
      b.holdReads();
      for (int64_t i = 0; i < together; ++i)
        for (auto [value, next] : llvm::zip(now, body(maxima[i], sums[i], now)))
          value = select(b, exist[i], next, value);
      return now;
    });
  };
  auto seen = forBlocks({noLogit(b), b.falseValue()}, /*withSums=*/false, [&](Value x, Value, ValueRange before) {
    Value isNaN = compare(b, arith::CmpFPredicate::UNO, x, x);
    return SmallVector<Value>{codegen::maximum(b, x, before[0]), b.either(before[1], isNaN)};
  });
  Value largest = b.reduceOver(ReduceKind::max, seen[0], kLanes), anyNaN = b.ballot(seen[1]);
  Value norms = b.at(b.data(views.result + 2), b.mul(row, b.stride(views.result + 2, 0)), f32);
  b.ifThen(isFirst, [&] { storeLargest(b, largest, anyNaN, norms); });
  b.ifThen(views.sums, [&] {
    Value shift = shiftOf(b, largest);
    Value sum = forBlocks(b.f32(0), /*withSums=*/true, [&](Value x, Value blockSum, ValueRange before) {
      Value factor = codegen::boundedExp(b, b.create<arith::SubFOp>(x, shift));
      return SmallVector<Value>{codegen::fusedMultiplyAdd(b, blockSum, factor, before[0])};
    })[0];
    sum = b.reduceOver(ReduceKind::sum, sum, kLanes);
    b.ifThen(isFirst, [&] { b.store(sum, b.at(norms, 1, f32)); });
  });
}

} // namespace

void emitChooseMerge(GpuBuilder b, const ChooseShape &shape) {
  ChooseMerge(b, shape).emit();
  b.finish();
}

} // namespace xf::gpu
