#include "compiler/Target/CPU/ChooseAll.h"

#include "compiler/Target/CPU/Chunks.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using mlir::xf::ChooseOp;
using mlir::xf::ReduceKind;

namespace xf::cpu {

// If a block's maximum is at most this far from 0, its exponentials are not shifted by it: their sum is a normal number anyway, and can be
// made in the pass that makes the logits.
static constexpr double kNear = 60;

static constexpr int64_t kTogether = 8; // rows whose lanes are reduced at once

static int64_t countTileRows(ChooseOp op, Isa isa) {
  return llvm::alignTo(blockRows(isa, WeightPanels(op.getX(), op.getWeight()).factor), kTogether);
}

ChooseAll::ChooseAll(const ChooseState &state) : ChooseState(state), tileRows(countTileRows(op, b.isa())) {}

int64_t ChooseAll::scratchBytes(ChooseOp op, Isa isa) { return countTileRows(op, isa) * (ChooseOp::kBlock + 2 * kLanes + 2) * 4; }

Value ChooseAll::lanesOf(ReduceKind kind, Value tileRow) {
  Value first = b.at(logits.sumsOf(b.i64(tileRows), b.i64(0)), (kind == ReduceKind::sum ? kLanes : 0) * tileRows, f32());
  return b.at(first, b.mul(tileRow, kLanes), f32());
}

Value ChooseAll::reducedOf(ReduceKind kind, Value tileRow) {
  Value first = b.at(lanesOf(ReduceKind::max, b.i64(0)), (2 * kLanes + (kind == ReduceKind::sum ? 1 : 0)) * tileRows, f32());
  return b.at(first, tileRow, f32());
}

void ChooseAll::look(Filter only) {
  auto ifWanted = [&](Value row, llvm::function_ref<void()> body) { only ? b.ifThen(only(row), body) : body(); };
  b.loop(rowBegin, rowEnd, 1, [&](Value row) { ifWanted(row, [&] { clearList(b, listOf(row, part), wanted); }); });
  auto skip = [&](Value row) {
    ifWanted(row, [&] {
      b.store(noLogit(), maximumAt(row, logits.block()));
      b.store(b.f32(0), sumAt(row, logits.block()));
    });
  };
  auto lookAtTile = [&](Value first, Value count) {
    auto withSums = [&] {
      forRows(first, count, [&](Value row, Value tileRow) { ifWanted(row, [&] { addExponentials(row, tileRow); }); });
      reduceRows(count);
    };
    auto without = [&] { forRows(first, count, [&](Value row, Value tileRow) { ifWanted(row, [&] { findMaximum(row, tileRow); }); }); };
    b.ifElse(sums, withSums, without);
    forRows(first, count, [&](Value row, Value tileRow) { ifWanted(row, [&] { settle(row, tileRow); }); });
  };
  forBlocks([&] { forTiles(logits.factors(), lookAtTile); }, skip);
}

/// Stores a row's logits in place of the products, and keeps 16 lanes of their maximum and of the sum of their exponentials.
void ChooseAll::addExponentials(Value row, Value tileRow) {
  auto seen = lookAtRow(row, tileRow, b.splatF32(0), [&](Value x, Value sum) { return b.create<arith::AddFOp>(sum, boundedExp(b, x)); });
  b.storeVector(seen[0], lanesOf(ReduceKind::max, tileRow));
  b.storeVector(seen[1], lanesOf(ReduceKind::sum, tileRow));
}

/// The same without exponentials: the sum is 0, or NaN if a logit is NaN or +inf.
void ChooseAll::findMaximum(Value row, Value tileRow) {
  auto seen = lookAtRow(row, tileRow, noLane(), [&](Value x, Value nonFinite) { return b.either(nonFinite, isNonFinite(x)); });
  b.store(reduceLanes(b, ReduceKind::max, seen[0]), reducedOf(ReduceKind::max, tileRow));
  b.store(nanIfAny(b.f32(0), seen[1]), reducedOf(ReduceKind::sum, tileRow));
}

/// Stores the logits, and returns 16 lanes of their maximum and of what `see` accumulates from `start` on.
SmallVector<Value> ChooseAll::lookAtRow(Value row, Value tileRow, Value start, llvm::function_ref<Value(Value, Value)> see) {
  ChooseLogits::Row own = logits.rowAt(row);
  return logits.forPanels({b.splat(noLogit()), start}, [&](Value panel, Value lanes, ValueRange carried) {
    Value products = logits.sumsOf(tileRow, panel);
    Value x = logits.logitsOf(own, panel, lanes, b.loadVector(logits.sumType(), products));
    b.storeVector(x, products);
    return SmallVector<Value>{maximum(b, x, carried[0]), see(x, carried[1])};
  });
}

/// Reduces the lanes of all rows. Rows after the last one, and rows that were filtered out, hold arbitrary values, which nobody reads.
void ChooseAll::reduceRows(Value count) {
  for (ReduceKind kind : {ReduceKind::max, ReduceKind::sum})
    b.loop(b.i64(0), count, kTogether, [&](Value first) {
      auto lanes = llvm::map_to_vector(llvm::seq(kTogether), [&](int64_t i) { return b.loadVector(f32(), lanesOf(kind, b.add(first, i))); });
      storeReduced(kind, lanes, reducedOf(kind, first));
    });
}

/// Stores a row's maximum and sum where the join finds them, and offers its logits to the list of the best.
void ChooseAll::settle(Value row, Value tileRow) {
  Value largest = b.load(f32(), reducedOf(ReduceKind::max, tileRow)), sum = b.load(f32(), reducedOf(ReduceKind::sum, tileRow));
  Value isKnown = b.both(isNear(largest), compare(arith::CmpFPredicate::ORD, sum, sum));
  auto keep = [&] {
    b.store(largest, maximumAt(row, logits.block()));
    b.store(sum, sumAt(row, logits.block()));
    return largest;
  };
  offerBlock(row, tileRow, b.chooseOne(isKnown, keep, [&] { return lookAgain(row, tileRow); }));
}

/// The maximum and sum of logits that are far from 0, NaN or +inf. Returns the maximum, which is NaN for the latter two.
Value ChooseAll::lookAgain(Value row, Value tileRow) {
  auto logitsAt = [&](Value panel) { return b.loadVector(f32(), logits.sumsOf(tileRow, panel)); };
  Value nonFinite = b.accumulate(b.i64(0), logits.panelCount(), 1, noLane(),
                                 [&](Value panel, Value carried) { return b.either(carried, isNonFinite(logitsAt(panel))); });
  Value largest = nanIfAny(b.load(f32(), reducedOf(ReduceKind::max, tileRow)), nonFinite);
  b.store(largest, maximumAt(row, logits.block()));
  b.ifThen(sums, [&] {
    Value shift = b.splat(shiftOf(offsetOf(largest)));
    Value sum = b.accumulate(b.i64(0), logits.panelCount(), 1, b.splatF32(0), [&](Value panel, Value carried) {
      return b.create<arith::AddFOp>(carried, boundedExp(b, difference(logitsAt(panel), shift)));
    });
    b.store(reduceLanes(b, ReduceKind::sum, sum), sumAt(row, logits.block()));
  });
  return largest;
}

Value ChooseAll::isNear(Value largest) {
  return compare(arith::CmpFPredicate::OLE, b.create<math::AbsFOp>(largest), constantLike(b, kNear, largest));
}

/// By how much a block's exponentials are shifted, given its maximum; -inf if no column may be chosen.
Value ChooseAll::offsetOf(Value largest) { return b.create<arith::SelectOp>(isNear(largest), constantLike(b, 0, largest), largest); }

void ChooseAll::offerBlock(Value row, Value tileRow, Value largest) {
  CandidateList list = listOf(row, part);
  // Where the maximum is NaN, some logits may still be numbers.
  b.ifThen(compare(arith::CmpFPredicate::UGT, largest, worstOf(b, list)), [&] {
    b.loop(b.i64(0), logits.panelCount(), 1, [&](Value panel) { offerPanel(panel, logits.sumsOf(tileRow, panel), list, Order::ascending); });
  });
}

void ChooseAll::join(Value row) {
  joinLists(row, parts);
  joinNorms(row);
}

void ChooseAll::joinNorms(Value row) {
  Value maxima = maximumAt(row, b.i64(0)), blockSums = sumAt(row, b.i64(0)), none = b.splat(noLogit());
  auto load = [&](Value i, Value lanes) {
    Value x = b.loadVector(f32(), b.at(maxima, i, f32()), lanes);
    return b.firstLanesOf(x, lanes, none);
  };
  auto seen = forChunks(b, b.i64(blocks), {none, noLane()}, [&](Value i, Value lanes, ValueRange carried) {
    Value x = load(i, lanes);
    Value isNaN = compare(arith::CmpFPredicate::UNO, x, x);
    return SmallVector<Value>{maximum(b, x, carried[0]), b.either(carried[1], isNaN)};
  });
  Value largest = reduceLanes(b, ReduceKind::max, seen[0]);
  b.store(nanIfAny(largest, seen[1]), normsOf(row));
  b.ifThen(sums, [&] {
    Value shift = b.splat(shiftOf(largest));
    Value sum = accumulateChunks(b, b.i64(blocks), b.splatF32(0), [&](Value i, Value lanes, Value carried) {
      Value factor = boundedExp(b, difference(offsetOf(load(i, lanes)), shift));
      return fusedMultiplyAdd(b, b.loadVector(f32(), b.at(blockSums, i, f32()), lanes), factor, carried);
    });
    b.store(reduceLanes(b, ReduceKind::sum, sum), totalOf(row));
  });
}

} // namespace xf::cpu
