// xf.choose by bounds of its logits: few of them are computed.
#include "compiler/Target/CPU/Choose.h"

using namespace mlir;
using mlir::xf::ChooseOp;
using mlir::xf::ReduceKind;

namespace xf::cpu {

/// Beyond one panel of so many, rows one by one cost about as much as all together.
static constexpr int64_t kFewPanels = 16;

/// Returns whether there are too many.
Value Choose::lookAtFew() {
  auto [first, end] = b.share(rows);
  b.loop(first, end, 1, [&](Value row) { screen->quantize(logits.factors(), row); });
  b.waitForOthers();
  auto skip = [&](Value row) { b.storeVector(b.splat(noLogit()), screen->boundAt(row, firstPanel()), logits.panelCount()); };
  forBlocks([&] { forRows(screen->factors(), {[&](Value row, Value place) { bound(row, place); }}); }, skip);

  // The list holds what a row reaches in any case: a panel that does not is of no use.
  Value count = b.loop(rowBegin, rowEnd, 1, b.i64(0), [&](Value row, ValueRange carried) {
                   clearRow(row);
                   lookAtPanel(row, panelOfBound(row, highestBound(row)), Order::any);
                   return SmallVector<Value>{b.add(carried[0], countPanels(row, worstOf(b, listOf(row, part))))};
                 })[0];
  Value all = b.mul(b.sub(rowEnd, rowBegin), b.sub(panelEnd, panelBegin));
  Value areMany = b.less(all, b.mul(count, kFewPanels));
  auto few = [&] {
    b.loop(rowBegin, rowEnd, 1, [&](Value row) {
      Value least = worstOf(b, listOf(row, part));
      clearRow(row);
      lookAtPanels(row, least);
    });
  };
  b.ifElse(areMany, [] {}, few);
  return areMany;
}

void Choose::clearRow(Value row) {
  clearList(b, listOf(row, part), wanted);
  b.loop(blockBegin, blockEnd, 1, [&](Value number) { b.store(noLogit(), maximumAt(row, number)); });
}

void Choose::bound(Value row, Value place) {
  ChooseLogits::Row own = logits.rowAt(row);
  ChooseScreen::Row ofScreen = screen->rowAt(row);
  logits.forPanels({}, [&](Value panel, Value lanes, ValueRange) {
    Value products = b.loadVector(b.getI32Type(), logits.sumsOf(place, panel));
    Value bounds = screen->estimate(ofScreen, columnOf(panel), lanes, products).bounds;
    Value highest = reduceLanes(b, ReduceKind::max, boundOrNone(logits.logitsOf(own, panel, lanes, bounds)));
    b.store(highest, screen->boundAt(row, b.add(firstPanel(), panel)));
    return SmallVector<Value>{};
  });
}

/// There is no bound at all where one is no number.
Value Choose::boundOrNone(Value bounds) {
  return b.create<arith::SelectOp>(isOdd(bounds), b.splatF32(std::numeric_limits<double>::infinity()), bounds);
}

/// 16 bounds from panel `first` on; those behind the thread's last one are -inf.
Value Choose::boundsFrom(Value row, Value first) {
  Value lanes = b.firstLanes(b.min(b.i64(kLanes), b.sub(panelEnd, first)));
  return b.create<arith::SelectOp>(lanes, b.loadVector(f32(), b.at(boundsOf(row), first, f32())), b.splat(noLogit()));
}

/// The lanes of `bounds` that may hold a logit of `least` or more.
Value Choose::reaching(Value bounds, Value least) {
  Value isHigh = b.create<arith::CmpFOp>(arith::CmpFPredicate::OGE, bounds, b.splat(least));
  Value isThere = b.create<arith::CmpFOp>(arith::CmpFPredicate::OGT, bounds, b.splat(noLogit()));
  return bitsOf(b.create<arith::AndIOp>(isHigh, isThere));
}

Value Choose::highestBound(Value row) {
  Value highest = b.loop(panelBegin, panelEnd, kLanes, b.splat(noLogit()), [&](Value first, ValueRange carried) {
                     return SmallVector<Value>{maximum(b, boundsFrom(row, first), carried[0])};
                   })[0];
  return reduceLanes(b, ReduceKind::max, highest);
}

Value Choose::panelOfBound(Value row, Value bound) {
  return placeOf(bound, panelBegin, panelEnd, [&](Value first) { return boundsFrom(row, first); });
}

/// The first place from `begin` to `end` that has this number; there is one. `numbersFrom`: those of 16 places.
Value Choose::placeOf(Value number, Value begin, Value end, llvm::function_ref<Value(Value first)> numbersFrom) {
  Value all = b.splat(number);
  return b.loop(begin, end, kLanes, b.i64(-1), [&](Value first, ValueRange carried) -> SmallVector<Value> {
    Value lanes = bitsOf(compare(arith::CmpFPredicate::OEQ, numbersFrom(first), all));
    Value isFirst = b.create<arith::AndIOp>(b.less(b.i64(0), lanes), b.less(carried[0], b.i64(0)));
    Value panel = b.add(first, b.create<LLVM::CountTrailingZerosOp>(b.i64Type(), lanes, /*is_zero_poison=*/false));
    return {b.create<arith::SelectOp>(isFirst, panel, carried[0])};
  })[0];
}

Value Choose::countPanels(Value row, Value least) {
  return b.loop(panelBegin, panelEnd, kLanes, b.i64(0), [&](Value first, ValueRange carried) {
    Value lanes = reaching(boundsFrom(row, first), least);
    return SmallVector<Value>{b.add(carried[0], b.create<LLVM::CtPopOp>(lanes))};
  })[0];
}

void Choose::lookAtPanels(Value row, Value least) {
  b.loop(panelBegin, panelEnd, kLanes, [&](Value first) {
    Value lanes = reaching(boundsFrom(row, first), least);
    forLanes(lanes, [&](Value lane) { lookAtPanel(row, b.add(first, lane), Order::ascending); });
  });
}

/// Calls `body` for each bit of `lanes` that is set.
void Choose::forLanes(Value lanes, llvm::function_ref<void(Value)> body) {
  b.ifThen(b.less(b.i64(0), lanes), [&] {
    b.loop(b.i64(0), b.i64(kLanes), 1, [&](Value lane) {
      Value bit = b.create<arith::AndIOp>(b.create<arith::ShRUIOp>(lanes, lane), b.i64(1));
      b.ifThen(b.equal(bit, b.i64(1)), [&] { body(lane); });
    });
  });
}

void Choose::lookAtPanel(Value row, Value panel, Order order) {
  logits.multiplyPanels(row, panel, panel, b.i64(1));
  takePanel(row, panel, b.i64(0), order, maximumAt(row, b.div(panel, ChooseLogits::kPanels)));
}

/// Offers a panel of a row's logits, whose products are at `place` among those of two panels, and returns them; `largest` is where
/// the largest one is kept that is known.
Value Choose::takePanel(Value row, Value panel, Value place, Order order, Value largest) {
  logits.goTo(b.div(panel, ChooseLogits::kPanels));
  Value inside = b.rem(panel, ChooseLogits::kPanels), products = logits.sumsOf(b.i64(0), place);
  Value x = logits.logitsOf(logits.rowAt(row), inside, logits.lanesOf(inside), b.loadVector(logits.sumType(), products));
  b.storeVector(x, products);
  Value own = unlessOdd(reduceLanes(b, ReduceKind::max, x), isOdd(x));
  b.store(b.create<arith::MaximumFOp>(b.load(f32(), largest), own), largest);
  offerPanel(inside, products, listOf(row, part), order);
  return x;
}

} // namespace xf::cpu
