#include "compiler/Target/CPU/ChooseSums.h"

#include "compiler/Target/CPU/Chunks.h"

using namespace mlir;
using mlir::xf::ChooseOp;
using mlir::xf::ReduceKind;

namespace xf::cpu {

/// A row's panels are computed one by one up to one in kFewPanels, and up to kAlwaysFew in any case. Beyond that, all logits of all such
/// rows together cost less.
static constexpr int64_t kFewPanels = 32, kAlwaysFew = 32;

int64_t ChooseSums::tooMany() const { return std::max(panelCount() / kFewPanels, kAlwaysFew); }

void ChooseSums::emit() {
  auto [first, end] = b.share(rows);
  b.loop(first, end, 1, [&](Value row) { screen.quantize(logits.factors(), row); });
  b.barrier();
  look();
  b.barrier();
  // From here on a row is one thread's, so that which columns are computed depends on the row alone.
  b.loop(first, end, 1, [&](Value row) { settle(row); });
  b.barrier();
  b.ifThen(anyIsUnsettled(b.i64(0), rows), [&] {
    b.ifThen(anyIsUnsettled(rowBegin, rowEnd), [&] { all.look([&](Value row) { return isUnsettled(row); }); });
    b.barrier();
    b.loop(first, end, 1, [&](Value row) { b.ifThen(isUnsettled(row), [&] { all.join(row); }); });
  });
}

/// Estimates and bounds the thread's columns of its rows.
void ChooseSums::look() {
  auto skip = [&](Value row) {
    b.storeVector(b.splat(noLogit()), screen.boundAt(row, firstPanel()), logits.panelCount());
    b.storeVector(b.splatF32(0), screen.panelSumAt(row, firstPanel()), logits.panelCount());
    b.store(b.f32(0), maximumAt(row, logits.block()));
  };
  auto lookAtTile = [&](Value first, Value count) {
    forRows(first, count, [&](Value row, Value tileRow) { estimate(row, tileRow); });
    forRows(first, count, [&](Value row, Value tileRow) { addEstimates(row, tileRow); });
  };
  forBlocks([&] { forTiles(screen.factors(), lookAtTile); }, skip);
}

/// Stores the logits' estimates in place of the products, the panels' bounds, and in place of the block's maximum the greatest
/// distance between a logit's estimate and its bound.
void ChooseSums::estimate(Value row, Value tileRow) {
  ChooseLogits::Row own = logits.rowAt(row);
  ChooseScreen::Row ofScreen = screen.rowAt(row);
  auto boundsOf = [&](Value panel, Value lanes, SmallVector<Value> &distance) {
    Value products = logits.sumsOf(tileRow, panel);
    auto estimates = screen.estimate(ofScreen, columnOf(panel), lanes, b.loadVector(b.getI32Type(), products));
    Value x = logits.logitsOf(own, panel, lanes, estimates.products), bounds = logits.boundsOf(own, panel, lanes, estimates.bounds);
    b.storeVector(x, products);
    distance[0] = maximum(b, difference(bounds, x), distance[0]);
    return boundOrNone(bounds);
  };
  auto boundAt = [&](Value panel) { return screen.boundAt(row, panel); };
  Value distance = reducePanels(ReduceKind::max, boundAt, b.splatF32(0), boundsOf)[0];
  b.store(reduceLanes(b, ReduceKind::max, distance), maximumAt(row, logits.block()));
}

void ChooseSums::addEstimates(Value row, Value tileRow) {
  auto exponentialsOf = [&](Value panel, Value, SmallVector<Value> &) {
    Value shift = b.splat(shiftOf(b.load(f32(), screen.boundAt(row, b.add(firstPanel(), panel)))));
    return exp(difference(b.loadVector(f32(), logits.sumsOf(tileRow, panel)), shift));
  };
  reducePanels(ReduceKind::sum, [&](Value panel) { return screen.panelSumAt(row, panel); }, ValueRange(), exponentialsOf);
}

/// The standard deviation of a logit's estimate, from the greatest distance to its bound.
Value ChooseSums::errorOf(Value row) {
  Value zeros = b.splatF32(0);
  Value maxDistance = accumulateChunks(b, b.i64(blocks), zeros, [&](Value i, Value lanes, Value carried) {
    Value x = b.loadVector(f32(), maximumAt(row, i), lanes);
    return maximum(b, b.firstLanesOf(x, lanes, zeros), carried);
  });
  double depth = cast<RankedTensorType>(op.getWeight().getType()).getDimSize(1);
  return b.create<arith::MulFOp>(reduceLanes(b, ReduceKind::max, maxDistance), b.f32(1 / std::sqrt(depth)));
}

/// Computes the logits that may be among the best, then those that weigh most, unless they are too many.
void ChooseSums::settle(Value row) {
  Value error = errorOf(row);
  part = b.i64(0); // the row's own list
  clearList(b, listOf(row, part), wanted);
  b.store(noLogit(), normsOf(row));
  b.store(b.f32(0), totalOf(row));
  b.store(b.i64(0), screen.countAt(row));

  // The rankings store their groups' maxima and sums over the blocks'.
  Value values = screen.boundAt(row, b.i64(0)), maxima = maximumAt(row, b.i64(0));
  PanelRanking byBound(b, values, panelCount(), noLogit(), maxima);
  byBound.rank();
  auto nextBest = [&]() -> std::pair<Value, Value> {
    Value highest = byBound.greatest(), mayBeBest = compare(arith::CmpFPredicate::OGE, highest, worstOf(b, listOf(row, part)));
    return {b.both(mayBeBest, compare(arith::CmpFPredicate::OGT, highest, noLogit())), highest};
  };
  whileFew(row, byBound, nextBest, [&](Value panel, Value slot) { settlePanel(row, panel, slot); });

  addRareColumns(row);
  PanelRanking byWeight(b, values, panelCount(), b.f32(0), maxima, sumAt(row, b.i64(0)));
  byWeight.rank();
  double tolerance = logits.factors().weight.factor == Factor::bf16 ? ChooseOp::kLostOfSumsBF16 : ChooseOp::kLostOfSums;
  Value limit = b.create<arith::DivFOp>(b.create<arith::MulFOp>(b.load(f32(), totalOf(row)), b.f32(tolerance)), error);
  limit = b.create<arith::MulFOp>(limit, limit);
  auto nextFrequent = [&]() -> std::pair<Value, Value> { return {compare(arith::CmpFPredicate::OGT, byWeight.sum(), limit), byWeight.greatest()}; };
  whileFew(row, byWeight, nextFrequent, [&](Value panel, Value slot) { replaceEstimate(row, panel, slot); });

  joinLists(row, b.i64(1));
}

/// Panels are computed two at a time: a panel's sums are one chain each, and two take no longer than one.
void ChooseSums::whileFew(Value row, PanelRanking &ranking, Next next, Body body) {
  Value count = screen.countAt(row);
  auto nextIfFew = [&]() -> std::pair<Value, Value> {
    auto [goOn, value] = next();
    return {b.both(goOn, b.less(b.load(b.i64Type(), count), b.i64(tooMany()))), value};
  };
  b.loopWhile(f32(), nextIfFew, [&](Value value) {
    Value first = ranking.takeOut(value);
    std::pair<Value, Value> following = next();
    Value second = b.chooseOne(following.first, [&] { return ranking.takeOut(following.second); }, [&] { return first; });
    Value computed = b.create<arith::SelectOp>(following.first, b.i64(2), b.i64(1));
    logits.multiplyPanels(row, first, second, computed);
    body(first, b.i64(0));
    b.ifThen(following.first, [&] { body(second, b.i64(1)); });
    b.store(b.add(b.load(b.i64Type(), count), computed), count);
  });
}

/// Takes a panel whose logits may be the largest, and adds its exponentials to the row's sum.
void ChooseSums::settlePanel(Value row, Value panel, Value slot) {
  Value before = b.load(f32(), normsOf(row)), total = totalOf(row);
  Value x = takePanel(row, panel, slot, Order::any, normsOf(row)), shift = shiftOf(b.load(f32(), normsOf(row)));
  Value panelSum = reduceLanes(b, ReduceKind::sum, exp(difference(x, b.splat(shift))));
  b.store(fusedMultiplyAdd(b, b.load(f32(), total), exp(difference(before, shift)), panelSum), total);
  b.store(b.f32(0), screen.panelSumAt(row, panel));
}

/// Adds the sums of all panels, from now on shifted by the largest logit. What they weigh takes the place of their bounds.
void ChooseSums::addRareColumns(Value row) {
  Value shift = b.splat(shiftOf(b.load(f32(), normsOf(row)))), none = b.splatF32(0);
  Value sum = b.accumulate(b.i64(0), b.i64(panelCount()), kLanes, none, [&](Value first, Value carried) {
    Value bounds = b.loadVector(f32(), screen.boundAt(row, first)), greatest = exp(difference(bounds, shift));
    // A panel without a bound has no sum, and there is no panel behind the last one.
    Value isThere = b.both(compare(arith::CmpFPredicate::OGT, bounds, b.splat(noLogit())),
                           b.firstLanes(b.min(b.i64(kLanes), b.sub(b.i64(panelCount()), first))));
    Value panelSums = b.create<arith::MulFOp>(b.loadVector(f32(), screen.panelSumAt(row, first)), greatest);
    panelSums = b.create<arith::SelectOp>(isThere, panelSums, none);
    b.storeVector(panelSums, screen.panelSumAt(row, first));
    b.storeVector(b.create<arith::SelectOp>(isThere, b.create<arith::MulFOp>(panelSums, greatest), none), screen.boundAt(row, first));
    return b.create<arith::AddFOp>(carried, panelSums);
  });
  b.store(b.create<arith::AddFOp>(b.load(f32(), totalOf(row)), reduceLanes(b, ReduceKind::sum, sum)), totalOf(row));
}

void ChooseSums::replaceEstimate(Value row, Value panel, Value slot) {
  Value panelSum = screen.panelSumAt(row, panel), total = totalOf(row);
  Value x = takePanel(row, panel, slot, Order::any, normsOf(row));
  Value shift = b.splat(shiftOf(b.load(f32(), normsOf(row))));
  Value exact = reduceLanes(b, ReduceKind::sum, exp(difference(x, shift)));
  b.store(b.create<arith::AddFOp>(b.load(f32(), total), difference(exact, b.load(f32(), panelSum))), total);
}

Value ChooseSums::isUnsettled(Value row) { return b.less(b.i64(tooMany() - 1), b.load(b.i64Type(), screen.countAt(row))); }

Value ChooseSums::anyIsUnsettled(Value first, Value end) {
  Value none = b.create<arith::ConstantIntOp>(b.getI1Type(), 0);
  return b.accumulate(first, end, 1, none, [&](Value row, Value carried) { return b.either(carried, isUnsettled(row)); });
}

} // namespace xf::cpu
