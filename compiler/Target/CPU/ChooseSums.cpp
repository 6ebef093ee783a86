// xf.choose with sums, when products of few bits are there: rare columns contribute their estimates.
//
// A sum of exponentials loses little by errors of its many small terms, as long as these have nothing to do with each other: if
// term n has the share p_n of the sum and its logit an error of standard deviation e, then the sum's is e √(Σ p_n²), relative to it.
// So a row's logits are computed that may be among the best, and behind them the panels that weigh most, until what the
// others lose is small enough. A panel weighs its sum times its greatest term, which is not less than the sum of its terms' squares. Their errors are estimated from their bounds: by Cauchy and Schwarz the error of a product is |e| |w| at
// most, and of vectors whose directions have nothing to do with each other a √k-th of that.
#include "compiler/Target/CPU/Choose.h"

#include "compiler/Target/CPU/Chunks.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using mlir::xf::ChooseOp;
using mlir::xf::ReduceKind;

namespace xf::cpu {

/// A row's panels are computed one by one up to one of so many, but so many in any case. Beyond them all rows together cost less.
static constexpr int64_t kFewPanels = 32, kAlwaysFew = 32;

void Choose::lookAtFewWithSums() {
  auto [first, end] = b.share(rows);
  b.loop(first, end, 1, [&](Value row) { ofSums->quantize(logits.factors(), row); });
  b.waitForOthers();
  auto skip = [&](Value row) {
    b.storeVector(b.splat(noLogit()), ofSums->boundAt(row, firstPanel()), logits.panelCount());
    b.storeVector(b.splatF32(0), ofSums->powersAt(row, firstPanel()), logits.panelCount());
    b.store(b.f32(0), maximumAt(row, logits.number()));
  };
  auto look = [&] {
    forRows(ofSums->factors(), {[&](Value row, Value place) { estimate(row, place); }, [&](Value row, Value place) { addEstimates(row, place); }});
  };
  forBlocks(look, skip);
  b.waitForOthers();

  // Here a row is one thread's, so that which columns are computed depends on the row alone.
  auto [firstOwn, endOwn] = b.share(rows);
  {
    llvm::SaveAndRestore wholeRow(part, b.i64(0)), fromFirst(panelBegin, b.i64(0)), toLast(panelEnd, b.i64(panelCount()));
    b.loop(firstOwn, endOwn, 1, [&](Value row) { settle(row); });
  }
  b.waitForOthers();
  b.ifThen(anyIsUnsettled(b.i64(0), rows), [&] {
    auto ifUnsettled = [&](Value row, llvm::function_ref<void()> body) { b.ifThen(isUnsettled(row), body); };
    b.ifThen(anyIsUnsettled(rowBegin, rowEnd), [&] { lookAtAll(ifUnsettled); });
    b.waitForOthers();
    b.loop(firstOwn, endOwn, 1, [&](Value row) { ifUnsettled(row, [&] { join(row); }); });
  });
}

Value Choose::isUnsettled(Value row) { return b.less(b.i64(0), b.load(b.i64Type(), ofSums->markAt(row))); }

Value Choose::anyIsUnsettled(Value first, Value end) {
  Value none = b.create<arith::ConstantIntOp>(b.getI1Type(), 0);
  return b.loop(first, end, 1, none, [&](Value row, ValueRange carried) {
    return SmallVector<Value>{b.create<arith::OrIOp>(carried[0], isUnsettled(row))};
  })[0];
}

/// Leaves the logits' estimates where the products were, the panels' bounds, and where a block has its maximum the greatest
/// distance between the two.
void Choose::estimate(Value row, Value place) {
  ChooseLogits::Row own = logits.rowAt(row);
  ChooseScreen::Row ofScreen = ofSums->rowAt(row);
  auto boundsOfPanel = [&](Value panel, Value lanes, Value &distance) {
    Value products = logits.sumsOf(place, panel);
    auto estimates = ofSums->estimate(ofScreen, columnOf(panel), lanes, b.loadVector(b.getI32Type(), products));
    Value x = logits.logitsOf(own, panel, lanes, estimates.products), bounds = logits.logitsOf(own, panel, lanes, estimates.bounds);
    b.storeVector(x, products);
    distance = maximum(b, difference(bounds, x), distance);
    return boundOrNone(bounds);
  };
  Value none = b.splatF32(0);
  auto together = [&] {
    Value distance = none;
    reduceTogether(ReduceKind::max, ofSums->boundAt(row, firstPanel()), [&](Value panel) { return boundsOfPanel(panel, nullptr, distance); });
    return SmallVector<Value>{distance};
  };
  auto apart = [&] {
    return logits.forPanels(none, [&](Value panel, Value lanes, ValueRange carried) {
      Value distance = carried[0], bounds = boundsOfPanel(panel, lanes, distance);
      b.store(reduceLanes(b, ReduceKind::max, bounds), ofSums->boundAt(row, b.add(firstPanel(), panel)));
      return SmallVector<Value>{distance};
    });
  };
  b.store(reduceLanes(b, ReduceKind::max, b.choose(logits.isWhole(), together, apart)[0]), maximumAt(row, logits.number()));
}

void Choose::addEstimates(Value row, Value place) {
  auto powersOfPanel = [&](Value panel) {
    Value shift = b.splat(shiftOf(b.load(f32(), ofSums->boundAt(row, b.add(firstPanel(), panel)))));
    return expOfNegative(b, difference(b.loadVector(f32(), logits.sumsOf(place, panel)), shift));
  };
  auto apart = [&] {
    b.loop(b.i64(0), logits.panelCount(), 1, [&](Value panel) {
      b.store(reduceLanes(b, ReduceKind::sum, powersOfPanel(panel)), ofSums->powersAt(row, b.add(firstPanel(), panel)));
    });
  };
  b.ifElse(logits.isWhole(), [&] { reduceTogether(ReduceKind::sum, ofSums->powersAt(row, firstPanel()), powersOfPanel); }, apart);
}

/// Stores what the vectors of a whole block's panels are reduced to.
void Choose::reduceTogether(ReduceKind kind, Value target, llvm::function_ref<Value(Value panel)> vectorOf) {
  static_assert(ChooseLogits::kPanels == 8);
  SmallVector<Value> vectors;
  for (int64_t panel = 0; panel < ChooseLogits::kPanels; ++panel)
    vectors.push_back(vectorOf(b.i64(panel)));
  b.create<LLVM::StoreOp>(reduceLanesOfEight(b, kind, vectors), target, 4);
}

/// The standard deviation of a logit's estimate, from the greatest distance to its bound.
Value Choose::errorOf(Value row) {
  Value zeros = b.splatF32(0);
  Value most = forChunks(b, b.i64(blocks), zeros, [&](Value i, Value lanes, ValueRange carried) {
                 Value x = b.loadVector(f32(), maximumAt(row, i), lanes);
                 return SmallVector<Value>{maximum(b, lanes ? b.create<arith::SelectOp>(b.firstLanes(lanes), x, zeros) : x, carried[0])};
               })[0];
  double depth = cast<RankedTensorType>(op.getWeight().getType()).getDimSize(1);
  return b.create<arith::MulFOp>(reduceLanes(b, ReduceKind::max, most), b.f32(1 / std::sqrt(depth)));
}

/// Computes the logits that may be among the best, then those that weigh most. If they are too many, the row is marked.
void Choose::settle(Value row) {
  Value error = errorOf(row), total = b.at(normsOf(row), 1, f32()), count = b.stack(b.i64Type(), 1);
  clearList(b, listOf(row, part), wanted);
  b.store(noLogit(), normsOf(row));
  b.store(b.f32(0), total);
  b.store(b.i64(0), count);
  auto areFew = [&] { return b.less(b.load(b.i64Type(), count), b.i64(std::max(panelCount() / kFewPanels, kAlwaysFew))); };
  auto whileFew = [&](auto next, auto body) {
    auto nextIfFew = [&]() -> std::pair<Value, Value> {
      auto [goOn, number] = next();
      return {b.create<arith::AndIOp>(goOn, areFew()), number};
    };
    b.loopWhile(f32(), nextIfFew, body);
  };

  Ranking byBound{row, noLogit(), /*addsUp=*/false};
  rank(byBound);
  auto nextBest = [&]() -> std::pair<Value, Value> {
    Value highest = overGroups(ReduceKind::max, [&](Value group) { return maximumAt(row, group); });
    Value mayBeBest = compare(arith::CmpFPredicate::OGE, highest, worstOf(b, listOf(row, part)));
    return {b.create<arith::AndIOp>(mayBeBest, compare(arith::CmpFPredicate::OGT, highest, noLogit())), highest};
  };
  whileFew(nextBest, [&](Value highest) {
    forTwo(byBound, count, highest, nextBest, [&](Value panel, Value place) { settlePanel(row, panel, place); });
  });

  addRareColumns(row);
  Ranking byWeight{row, b.f32(0), /*addsUp=*/true};
  rank(byWeight);
  double most = logits.factors().weight.factor == Factor::bf16 ? ChooseOp::kLostOfSumsBF16 : ChooseOp::kLostOfSums;
  Value limit = b.create<arith::DivFOp>(b.create<arith::MulFOp>(b.load(f32(), total), b.f32(most)), error);
  limit = b.create<arith::MulFOp>(limit, limit);
  auto nextFrequent = [&]() -> std::pair<Value, Value> {
    Value all = overGroups(ReduceKind::sum, [&](Value group) { return sumAt(row, group); });
    return {compare(arith::CmpFPredicate::OGT, all, limit), overGroups(ReduceKind::max, [&](Value group) { return maximumAt(row, group); })};
  };
  whileFew(nextFrequent, [&](Value greatest) {
    forTwo(byWeight, count, greatest, nextFrequent, [&](Value panel, Value place) { replaceEstimate(row, panel, place); });
  });
  joinLists(row, b.i64(1));
  Value areMany = b.create<arith::XOrIOp>(areFew(), b.create<arith::ConstantIntOp>(b.getI1Type(), 1));
  b.store(b.create<arith::ExtUIOp>(b.i64Type(), areMany), ofSums->markAt(row));
}

/// Of 16 panels; those behind the last one have `none`.
Value Choose::numbersFrom(const Ranking &ranking, Value first) {
  Value lanes = b.firstLanes(b.min(b.i64(kLanes), b.sub(panelEnd, first)));
  return b.create<arith::SelectOp>(lanes, b.loadVector(f32(), ofSums->boundAt(ranking.row, first)), b.splat(ranking.none));
}

/// Keeps the group's maximum where a block has its own, and its sum where a block has that.
void Choose::rankGroup(const Ranking &ranking, Value group) {
  Value numbers = numbersFrom(ranking, b.mul(group, kLanes));
  b.store(reduceLanes(b, ReduceKind::max, numbers), maximumAt(ranking.row, group));
  if (ranking.addsUp)
    b.store(reduceLanes(b, ReduceKind::sum, numbers), sumAt(ranking.row, group));
}

void Choose::rank(const Ranking &ranking) {
  b.loop(b.i64(0), groupCount(), 1, [&](Value group) { rankGroup(ranking, group); });
}

/// The maximum or sum of what all groups have.
Value Choose::overGroups(ReduceKind kind, llvm::function_ref<Value(Value group)> at) {
  Value none = b.splat(identity(b, kind, f32()));
  Value all = forChunks(b, groupCount(), none, [&](Value group, Value lanes, ValueRange carried) {
                Value x = b.loadVector(f32(), at(group), lanes);
                x = lanes ? b.create<arith::SelectOp>(b.firstLanes(lanes), x, none) : x;
                return SmallVector<Value>{combine(b, kind, x, carried[0])};
              })[0];
  return reduceLanes(b, kind, all);
}

/// Takes out the first panel that has this number, and returns it; there is one.
Value Choose::takeOut(const Ranking &ranking, Value number) {
  Value groups = groupCount();
  Value group = placeOf(number, b.i64(0), groups, [&](Value first) {
    Value lanes = b.firstLanes(b.min(b.i64(kLanes), b.sub(groups, first)));
    return b.create<arith::SelectOp>(lanes, b.loadVector(f32(), maximumAt(ranking.row, first)), b.splat(notANumber()));
  });
  Value first = b.mul(group, kLanes);
  Value panel = placeOf(number, first, b.add(first, kLanes), [&](Value at) { return numbersFrom(ranking, at); });
  b.store(ranking.none, ofSums->boundAt(ranking.row, panel));
  rankGroup(ranking, group);
  return panel;
}

/// Computes the panel that has `number`, and with it the next one: a single panel's sums are one chain each, which two are as
/// fast as. `next` says whether there is one, and its number; `body` takes a panel's products.
void Choose::forTwo(const Ranking &ranking, Value count, Value number, llvm::function_ref<std::pair<Value, Value>()> next,
                    llvm::function_ref<void(Value, Value)> body) {
  Value first = takeOut(ranking, number);
  auto [isSecond, secondNumber] = next();
  Value second = b.choose(
      isSecond, [&, number = secondNumber] { return SmallVector<Value>{takeOut(ranking, number)}; }, [&] { return SmallVector<Value>{first}; })[0];
  Value computed = b.create<arith::SelectOp>(isSecond, b.i64(2), b.i64(1));
  logits.multiplyPanels(ranking.row, first, second, computed);
  body(first, b.i64(0));
  b.ifThen(isSecond, [&] { body(second, b.i64(1)); });
  b.store(b.add(b.load(b.i64Type(), count), computed), count);
}

/// Takes a panel whose logits may be the largest, and adds its exponentials to the row's sum.
void Choose::settlePanel(Value row, Value panel, Value place) {
  Value before = b.load(f32(), normsOf(row)), total = b.at(normsOf(row), 1, f32());
  Value x = takePanel(row, panel, place, Order::any, normsOf(row)), shift = shiftOf(b.load(f32(), normsOf(row)));
  Value power = reduceLanes(b, ReduceKind::sum, expOfNegative(b, difference(x, b.splat(shift))));
  b.store(fusedMultiplyAdd(b, b.load(f32(), total), expOfNegative(b, difference(before, shift)), power), total);
  b.store(b.f32(0), ofSums->powersAt(row, panel));
}

/// Adds the sums of all panels, from now on shifted by the largest logit. What they weigh takes the place of their bounds.
void Choose::addRareColumns(Value row) {
  Value shift = b.splat(shiftOf(b.load(f32(), normsOf(row)))), total = b.at(normsOf(row), 1, f32());
  Value sum = b.loop(panelBegin, panelEnd, kLanes, b.splatF32(0), [&](Value first, ValueRange carried) {
                 Value bounds = boundsFrom(row, first), none = b.splatF32(0), most = expOfNegative(b, difference(bounds, shift));
                 // What has no bound, as all lanes behind the last panel, has no sum.
                 Value isThere = compare(arith::CmpFPredicate::OGT, bounds, b.splat(noLogit()));
                 Value powers = b.create<arith::MulFOp>(b.loadVector(f32(), ofSums->powersAt(row, first)), most);
                 powers = b.create<arith::SelectOp>(isThere, powers, none);
                 b.storeVector(powers, ofSums->powersAt(row, first));
                 b.storeVector(b.create<arith::MulFOp>(powers, most), ofSums->boundAt(row, first));
                 return SmallVector<Value>{b.create<arith::AddFOp>(carried[0], powers)};
               })[0];
  b.store(b.create<arith::AddFOp>(b.load(f32(), total), reduceLanes(b, ReduceKind::sum, sum)), total);
}

void Choose::replaceEstimate(Value row, Value panel, Value place) {
  Value power = ofSums->powersAt(row, panel), total = b.at(normsOf(row), 1, f32());
  Value x = takePanel(row, panel, place, Order::any, normsOf(row));
  Value shift = b.splat(shiftOf(b.load(f32(), normsOf(row))));
  Value exact = reduceLanes(b, ReduceKind::sum, expOfNegative(b, difference(x, shift)));
  b.store(b.create<arith::AddFOp>(b.load(f32(), total), difference(exact, b.load(f32(), power))), total);
}

} // namespace xf::cpu
