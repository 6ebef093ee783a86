#include "compiler/Target/CPU/ChooseAll.h"

#include "compiler/Target/CPU/Chunks.h"

using namespace mlir;
using mlir::xf::ReduceKind;

namespace xf::cpu {

void ChooseAll::look(Filter only) {
  auto ifWanted = [&](Value row, llvm::function_ref<void()> body) { only ? b.ifThen(only(row), body) : body(); };
  b.loop(rowBegin, rowEnd, 1, [&](Value row) { ifWanted(row, [&] { clearList(b, listOf(row, part), wanted); }); });
  auto skip = [&](Value row) {
    ifWanted(row, [&] {
      b.store(noLogit(), maximumAt(row, logits.number()));
      b.store(b.f32(0), sumAt(row, logits.number()));
    });
  };
  auto findMaxima = [&](Value row, Value place) { ifWanted(row, [&] { findMaximum(row, place); }); };
  auto addSums = [&](Value row, Value place) { ifWanted(row, [&] { b.ifThen(sums, [&] { addPowers(row, place); }); }); };
  auto offerBest = [&](Value row, Value place) { ifWanted(row, [&] { offerBlock(row, place); }); };
  forBlocks([&] { forRows(logits.factors(), {findMaxima, addSums, offerBest}); }, skip);
}

void ChooseAll::findMaximum(Value row, Value place) {
  ChooseLogits::Row own = logits.rowAt(row);
  auto seen = logits.forPanels({b.splat(noLogit()), noLane()}, [&](Value panel, Value lanes, ValueRange carried) {
    Value products = logits.sumsOf(place, panel);
    Value x = logits.logitsOf(own, panel, lanes, b.loadVector(logits.sumType(), products));
    b.storeVector(x, products);
    return SmallVector<Value>{maximum(b, x, carried[0]), b.either(carried[1], isOdd(x))};
  });
  b.store(unlessOdd(reduceLanes(b, ReduceKind::max, seen[0]), seen[1]), maximumAt(row, logits.number()));
}

void ChooseAll::addPowers(Value row, Value place) {
  Value shift = b.splat(shiftOf(b.load(f32(), maximumAt(row, logits.number()))));
  Value sum = b.accumulate(b.i64(0), logits.panelCount(), 1, b.splatF32(0), [&](Value panel, Value carried) {
    Value x = b.loadVector(f32(), logits.sumsOf(place, panel));
    Value power = expOfNegative(b, difference(x, shift));
    return b.create<arith::AddFOp>(carried, power);
  });
  b.store(reduceLanes(b, ReduceKind::sum, sum), sumAt(row, logits.number()));
}

void ChooseAll::offerBlock(Value row, Value place) {
  // Where the maximum is NaN, some logits may still be numbers.
  Value largest = b.load(f32(), maximumAt(row, logits.number()));
  CandidateList list = listOf(row, part);
  b.ifThen(compare(arith::CmpFPredicate::UGT, largest, worstOf(b, list)), [&] {
    b.loop(b.i64(0), logits.panelCount(), 1, [&](Value panel) { offerPanel(panel, logits.sumsOf(place, panel), list, Order::ascending); });
  });
}

void ChooseAll::join(Value row) {
  joinLists(row, parts);
  joinNorms(row);
}

void ChooseAll::joinNorms(Value row) {
  Value maxima = maximumAt(row, b.i64(0)), powers = sumAt(row, b.i64(0)), none = b.splat(noLogit());
  auto load = [&](Value i, Value lanes) {
    Value x = b.loadVector(f32(), b.at(maxima, i, f32()), lanes);
    return b.firstLanesOf(x, lanes, none);
  };
  auto seen = forChunks(b, b.i64(blocks), {none, noLane()}, [&](Value i, Value lanes, ValueRange carried) {
    Value x = load(i, lanes);
    Value isNumberless = compare(arith::CmpFPredicate::UNO, x, x);
    return SmallVector<Value>{maximum(b, x, carried[0]), b.either(carried[1], isNumberless)};
  });
  Value largest = reduceLanes(b, ReduceKind::max, seen[0]);
  b.store(unlessOdd(largest, seen[1]), normsOf(row));
  b.ifThen(sums, [&] {
    Value shift = b.splat(shiftOf(largest));
    Value sum = accumulateChunks(b, b.i64(blocks), b.splatF32(0), [&](Value i, Value lanes, Value carried) {
      Value factor = expOfNegative(b, difference(load(i, lanes), shift));
      return fusedMultiplyAdd(b, b.loadVector(f32(), b.at(powers, i, f32()), lanes), factor, carried);
    });
    b.store(reduceLanes(b, ReduceKind::sum, sum), totalOf(row));
  });
}

} // namespace xf::cpu
