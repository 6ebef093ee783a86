#include "compiler/Target/CPU/ChooseFew.h"

using namespace mlir;
using mlir::xf::ReduceKind;

namespace xf::cpu {

/// If more than one panel of so many is needed, computing rows one by one costs about as much as computing all logits.
static constexpr int64_t kFewPanels = 16;

Value ChooseFew::look() {
  auto [first, end] = b.share(rows);
  b.loop(first, end, 1, [&](Value row) { screen.quantize(logits.factors(), row); });
  b.barrier();
  auto skip = [&](Value row) { b.storeVector(b.splat(noLogit()), screen.boundAt(row, firstPanel()), logits.panelCount()); };
  auto boundTile = [&](Value first, Value count) { forRows(first, count, [&](Value row, Value tileRow) { bound(row, tileRow); }); };
  forBlocks([&] { forTiles(screen.factors(), boundTile); }, skip);

  // The list then holds logits that the row reaches in any case: panels whose bounds do not reach its worst are of no use.
  Value count = b.accumulate(rowBegin, rowEnd, 1, b.i64(0), [&](Value row, Value carried) {
    clearRow(row);
    lookAtPanel(row, panelOfHighestBound(row), Order::any);
    return b.add(carried, countPanels(row, worstOf(b, listOf(row, part))));
  });
  Value all = b.mul(b.sub(rowEnd, rowBegin), b.sub(panelEnd, panelBegin));
  Value areMany = b.less(all, b.mul(count, kFewPanels));
  auto few = [&] {
    b.loop(rowBegin, rowEnd, 1, [&](Value row) {
      Value threshold = worstOf(b, listOf(row, part));
      clearRow(row);
      lookAtPanels(row, threshold);
    });
  };
  b.ifElse(areMany, [] {}, few);
  return areMany;
}

void ChooseFew::clearRow(Value row) {
  clearList(b, listOf(row, part), wanted);
  b.loop(blockBegin, blockEnd, 1, [&](Value block) { b.store(noLogit(), maximumAt(row, block)); });
}

void ChooseFew::bound(Value row, Value tileRow) {
  ChooseLogits::Row own = logits.rowAt(row);
  ChooseScreen::Row ofScreen = screen.rowAt(row);
  auto boundsOf = [&](Value panel, Value lanes, SmallVector<Value> &) {
    Value products = b.loadVector(b.getI32Type(), logits.sumsOf(tileRow, panel));
    return boundOrNone(logits.boundsOf(own, panel, lanes, screen.estimate(ofScreen, columnOf(panel), lanes, products).bounds));
  };
  reducePanels(ReduceKind::max, [&](Value panel) { return screen.boundAt(row, panel); }, ValueRange(), boundsOf);
}

/// 16 bounds from panel `first` on; those behind the thread's last one are -inf.
Value ChooseFew::boundsFrom(Value row, Value first) { return loadUntil(b, screen.boundAt(row, b.i64(0)), first, panelEnd, noLogit()); }

/// The lanes of `bounds` that may hold a logit of `threshold` or more.
Value ChooseFew::reaching(Value bounds, Value threshold) {
  Value isHigh = compare(arith::CmpFPredicate::OGE, bounds, b.splat(threshold));
  Value isThere = compare(arith::CmpFPredicate::OGT, bounds, b.splat(noLogit()));
  return bitsOf(b, b.both(isHigh, isThere));
}

Value ChooseFew::panelOfHighestBound(Value row) {
  Value highest = b.accumulate(panelBegin, panelEnd, kLanes, b.splat(noLogit()),
                               [&](Value first, Value carried) { return maximum(b, boundsFrom(row, first), carried); });
  return indexOf(b, reduceLanes(b, ReduceKind::max, highest), panelBegin, panelEnd, [&](Value first) { return boundsFrom(row, first); });
}

Value ChooseFew::countPanels(Value row, Value threshold) {
  return b.accumulate(panelBegin, panelEnd, kLanes, b.i64(0), [&](Value first, Value carried) {
    Value lanes = reaching(boundsFrom(row, first), threshold);
    return b.add(carried, b.create<LLVM::CtPopOp>(lanes));
  });
}

void ChooseFew::lookAtPanels(Value row, Value threshold) {
  b.loop(panelBegin, panelEnd, kLanes, [&](Value first) {
    Value lanes = reaching(boundsFrom(row, first), threshold);
    b.ifThen(b.less(b.i64(0), lanes), [&] {
      b.loop(b.i64(0), b.i64(kLanes), 1, [&](Value lane) {
        Value bit = b.create<arith::AndIOp>(b.create<arith::ShRUIOp>(lanes, lane), b.i64(1));
        b.ifThen(b.equal(bit, b.i64(1)), [&] { lookAtPanel(row, b.add(first, lane), Order::ascending); });
      });
    });
  });
}

void ChooseFew::lookAtPanel(Value row, Value panel, Order order) {
  logits.multiplyPanels(row, panel, panel, b.i64(1));
  takePanel(row, panel, b.i64(0), order, maximumAt(row, b.div(panel, ChooseLogits::kPanels)));
}

} // namespace xf::cpu
