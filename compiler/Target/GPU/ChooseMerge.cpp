// Joins the blocks of a row: sums are added in the CPU's order, and the best candidate is taken off the blocks' lists until
// there are as many as are wanted. A thread keeps the heads of its lists in registers.
#include "compiler/Target/GPU/ChooseKernel.h"
#include "compiler/Target/VectorMath.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf::gpu {
namespace {

constexpr int64_t kLanes = codegen::kLanes, kWarps = kMergeThreads / kWarp;

class ChooseMerge {
public:
  ChooseMerge(GpuBuilder &b, ChooseOp op, const KernelRequest &request)
      : b(b), views(b, op, request), ownLists(llvm::divideCeil(views.blocks, kMergeThreads)), row(b.block()) {
    views.readOptions();
  }

  void emit() {
    joinLists();
    b.ifThen(b.less(b.thread(), b.i64(kWarp)), [&] { joinNorms(); });
  }

private:
  Value listOf(int64_t own) { return b.add(b.thread(), own * kMergeThreads); }
  Candidate read(Value list, Value place);
  Candidate bestOfBlock(Candidate candidate);
  void joinLists();
  void joinNorms();

  GpuBuilder &b;
  ChooseViews views;
  int64_t ownLists;
  Value row;
  Value sharedLogits, sharedColumns; // of each warp
};

/// A place of a list, neither of which may exist.
Candidate ChooseMerge::read(Value list, Value place) {
  Value lastList = b.i64(views.blocks - 1), lastPlace = b.max(b.sub(views.wanted, 1), b.i64(0));
  Candidate found = views.load(row, b.min(list, lastList), b.min(place, lastPlace));
  Value exists = b.create<arith::AndIOp>(b.less(list, b.i64(views.blocks)), b.less(place, views.wanted));
  Candidate none = noCandidate(b);
  return {b.create<arith::SelectOp>(exists, found.logit, none.logit), b.create<arith::SelectOp>(exists, found.column, none.column)};
}

Candidate ChooseMerge::bestOfBlock(Candidate candidate) {
  Type f32 = b.getF32Type(), i32 = b.getI32Type();
  candidate = bestOver(b, candidate, kWarp);
  b.barrier(); // what the warps said before has been read
  b.ifThen(b.equal(b.lane(), b.i64(0)), [&] {
    b.store(candidate.logit, b.at(sharedLogits, b.warp(), f32));
    b.store(candidate.column, b.at(sharedColumns, b.warp(), i32));
  });
  b.barrier();
  Candidate best = noCandidate(b);
  for (int64_t warp = 0; warp < kWarps; ++warp)
    best = bestOf(b, best, {b.load(f32, b.at(sharedLogits, warp, f32)), b.load(i32, b.at(sharedColumns, warp, i32))});
  return best;
}

void ChooseMerge::joinLists() {
  sharedLogits = b.shared(b.getF32Type(), kWarps);
  sharedColumns = b.shared(b.getI32Type(), kWarps);
  KeptCandidates kept(b, b.thread(), kMergeThreads, views.most);
  size_t keptCount = kept.values().size();
  SmallVector<Value> carried = kept.values();
  // Of each list: its head's logit and column, and the head's place.
  for (int64_t i = 0; i < ownLists; ++i) {
    Candidate head = read(listOf(i), b.i64(0));
    carried.append({head.logit, head.column, b.i64(0)});
  }
  carried = b.loop(b.i64(0), views.wanted, 1, carried, [&](Value place, ValueRange before) {
    kept.take(before);
    ValueRange heads = before.drop_front(keptCount);
    Candidate best = noCandidate(b);
    for (int64_t i = 0; i < ownLists; ++i)
      best = greaterOf(b, best, {heads[3 * i], heads[3 * i + 1]});
    best = bestOfBlock(best);
    kept.keep(best, place);
    SmallVector<Value> after = kept.values();
    for (int64_t i = 0; i < ownLists; ++i) {
      Value taken = b.create<arith::CmpIOp>(arith::CmpIPredicate::eq, heads[3 * i + 1], best.column);
      Value next = b.create<arith::SelectOp>(taken, b.add(heads[3 * i + 2], 1), heads[3 * i + 2]);
      Candidate head = read(listOf(i), next);
      after.append({head.logit, head.column, next});
    }
    return after;
  });
  kept.take(carried);
  kept.forEach(b.i64(views.most), [&](const Candidate &found, Value place) { views.storeResult(found, row, place); });
}

void ChooseMerge::joinNorms() {
  Type f32 = b.getF32Type(), i32 = b.getI32Type();
  Value lane = b.rem(b.thread(), b.i64(kLanes)), isFirst = b.equal(b.thread(), b.i64(0));
  Value regular = b.create<arith::ConstantIntOp>(i32, 0);
  auto seen = b.loop(lane, b.i64(views.blocks), kLanes, {noCandidate(b).logit, regular}, [&](Value block, ValueRange carried) {
    Value x = b.load(f32, views.maximumAt(row, block));
    Value isOdd = b.create<arith::ExtUIOp>(i32, b.create<arith::CmpFOp>(arith::CmpFPredicate::UNO, x, x));
    return SmallVector<Value>{codegen::maximum(b, x, carried[0]), b.create<arith::OrIOp>(carried[1], isOdd)};
  });
  Value largest = b.reduceOver(ReduceKind::max, seen[0], kLanes), isOdd = b.reduceOver(ReduceKind::max, seen[1], kLanes);
  Value norms = b.at(b.data(views.result + 2), b.mul(row, b.stride(views.result + 2, 0)), f32);
  b.ifThen(isFirst, [&] { storeLargest(b, largest, isOdd, norms); });
  b.ifThen(views.sums, [&] {
    Value shift = shiftOf(b, largest);
    Value sum = b.loop(lane, b.i64(views.blocks), kLanes, b.f32(0), [&](Value block, ValueRange carried) {
      Value difference = b.create<arith::SubFOp>(b.load(f32, views.maximumAt(row, block)), shift);
      Value power = b.load(f32, views.sumAt(row, block));
      return SmallVector<Value>{codegen::fusedMultiplyAdd(b, power, codegen::expOfNegative(b, difference), carried[0])};
    })[0];
    sum = b.reduceOver(ReduceKind::sum, sum, kLanes);
    b.ifThen(isFirst, [&] { b.store(sum, b.at(norms, 1, f32)); });
  });
}

} // namespace

void emitChooseMerge(GpuBuilder b, ChooseOp op, const KernelRequest &request) {
  ChooseMerge(b, op, request).emit();
  b.finish();
}

} // namespace xf::gpu
