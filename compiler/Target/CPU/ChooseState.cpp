#include "compiler/Target/CPU/ChooseState.h"

#include "llvm/Support/MathExtras.h"

#include <tuple>

using namespace mlir;
using mlir::xf::ChooseOp;
using mlir::xf::ReduceKind;

namespace xf::cpu {

ChooseState::ChooseState(KernelBuilder &b, ChooseOp op, const KernelRequest &request)
    : b(b), op(op), valuesView(request.resultView()), tokensView(valuesView + 1), normsView(valuesView + 2), keptView(valuesView + 3),
      blocks(ChooseOp::countBlocks(op.getColumns())), paddedBlocks(llvm::alignTo(blocks, kLanes)), maxCandidates(op.getMaxChosen()),
      logits(b, op, request), rows(logits.rowCount()) {
  Type i32 = b.getI32Type();
  wanted = b.min(b.toI64(b.load(i32, b.data(ChooseLogits::optionsView))), b.i64(maxCandidates));
  sums = b.create<arith::CmpIOp>(arith::CmpIPredicate::ne, b.load(i32, b.at(b.data(ChooseLogits::optionsView), 1, i32)), b.i32(0));
  splitWork();
}

void ChooseState::splitWork() {
  KernelBuilder::Grid grid = b.grid(rows, std::min(blocks, ChooseOp::kMaxThreads));
  rowBegin = grid.rowBegin, rowEnd = grid.rowEnd;
  part = grid.column, parts = grid.columns;
  std::tie(blockBegin, blockEnd) = b.part(b.i64(blocks), part, parts);
  panelBegin = b.mul(blockBegin, ChooseLogits::kPanels);
  panelEnd = b.min(b.mul(blockEnd, ChooseLogits::kPanels), b.i64(panelCount()));
}

void ChooseState::forBlocks(llvm::function_ref<void()> body, llvm::function_ref<void(Value)> skip) {
  b.loop(blockBegin, blockEnd, 1, [&](Value block) {
    logits.begin(block, blockEnd);
    b.ifElse(logits.isNeeded(), body, [&] { b.loop(rowBegin, rowEnd, 1, skip); });
  });
}

void ChooseState::forTiles(const ChooseFactors &factors, llvm::function_ref<void(Value, Value)> body) {
  Value count = b.sub(rowEnd, rowBegin), turns = b.ceilDiv(count, blockRows(b.isa(), factors.weight.factor));
  b.loop(b.i64(0), turns, 1, [&](Value turn) {
    auto [begin, end] = b.part(count, turn, turns);
    Value first = b.add(rowBegin, begin), tile = b.sub(end, begin);
    logits.multiply(factors, first, tile, turn, turns);
    body(first, tile);
  });
}

void ChooseState::forRows(Value first, Value count, llvm::function_ref<void(Value, Value)> body) {
  b.loop(b.i64(0), count, 1, [&](Value tileRow) { body(b.add(first, tileRow), tileRow); });
}

SmallVector<Value> ChooseState::reduceTogether(ReduceKind kind, Value target, ValueRange carried, PanelBody vectorOf) {
  static_assert(ChooseLogits::kPanels == 8);
  SmallVector<Value> values(carried), vectors;
  if (hasAvx512(b.isa())) {
    for (int64_t panel = 0; panel < ChooseLogits::kPanels; ++panel)
      vectors.push_back(vectorOf(b.i64(panel), nullptr, values));
  } else {
    // Eight vectors, and what they are made of meanwhile, do not fit into the registers.
    Value folded = b.stack(f32(), ChooseLogits::kPanels * kLanes / 2);
    values = b.loop(b.i64(0), b.i64(ChooseLogits::kPanels), 1, values, [&](Value panel, ValueRange before) {
      SmallVector<Value> inside(before);
      Value lanes = foldLanes(b, kind, vectorOf(panel, nullptr, inside));
      b.create<LLVM::StoreOp>(lanes, b.at(folded, b.mul(panel, kLanes / 2), f32()), 4);
      return inside;
    });
    for (int64_t i = 0; i < ChooseLogits::kPanels / 2; ++i)
      vectors.push_back(b.loadVector(f32(), b.at(folded, i * kLanes, f32())));
  }
  storeReduced(kind, vectors, target);
  return values;
}

void ChooseState::storeReduced(ReduceKind kind, ArrayRef<Value> vectors, Value target) {
  b.create<LLVM::StoreOp>(reduceLanesOfEight(b, kind, vectors), target, 4);
}

SmallVector<Value> ChooseState::reducePanels(ReduceKind kind, llvm::function_ref<Value(Value panel)> addressOf, ValueRange carried,
                                             PanelBody vectorOf) {
  auto together = [&] { return reduceTogether(kind, addressOf(firstPanel()), carried, vectorOf); };
  auto separately = [&] {
    return logits.forPanels(carried, [&](Value panel, Value lanes, ValueRange inside) {
      SmallVector<Value> values(inside);
      Value reduced = reduceLanes(b, kind, vectorOf(panel, lanes, values));
      b.store(reduced, addressOf(b.add(firstPanel(), panel)));
      return values;
    });
  };
  return b.choose(logits.isWhole(), together, separately);
}

void ChooseState::offerPanel(Value panel, Value start, const CandidateList &list, Order order) {
  auto predicate = order == Order::ascending ? arith::CmpFPredicate::OGT : arith::CmpFPredicate::OGE;
  Value lanes = bitsOf(b, compare(predicate, b.loadVector(f32(), start), b.splat(worstOf(b, list))));
  b.ifThen(b.less(b.i64(0), lanes), [&] {
    Value first = columnOf(panel), count = b.create<LLVM::CtPopOp>(b.i64Type(), lanes);
    b.loop(b.i64(0), count, 1, lanes, [&](Value, ValueRange left) -> SmallVector<Value> {
      Value lane = b.create<LLVM::CountTrailingZerosOp>(b.i64Type(), left[0], /*is_zero_poison=*/true);
      Value token = b.create<arith::TruncIOp>(b.getI32Type(), b.add(first, lane));
      offer(b, list, b.load(f32(), b.at(start, lane, f32())), token);
      return {b.create<arith::AndIOp>(left[0], b.sub(left[0], 1))};
    });
  });
}

Value ChooseState::takePanel(Value row, Value panel, Value slot, Order order, Value largest) {
  logits.goTo(b.div(panel, ChooseLogits::kPanels));
  Value inside = b.rem(panel, ChooseLogits::kPanels), products = logits.sumsOf(b.i64(0), slot);
  Value x = logits.logitsOf(logits.rowAt(row), inside, logits.lanesOf(inside), b.loadVector(logits.sumType(), products));
  b.storeVector(x, products);
  Value own = nanIfAny(reduceLanes(b, ReduceKind::max, x), isNonFinite(x));
  b.store(b.create<arith::MaximumFOp>(b.load(f32(), largest), own), largest);
  offerPanel(inside, products, listOf(row, part), order);
  return x;
}

void ChooseState::joinLists(Value row, Value lists) {
  CandidateList best{rowOf(valuesView, row), rowOf(tokensView, row), wanted};
  clearList(b, best, b.i64(maxCandidates));
  // Ascending columns, so that the lower of equals comes first.
  b.loop(b.i64(0), lists, 1, [&](Value i) {
    CandidateList list = listOf(row, i);
    b.loop(b.i64(0), wanted, 1, [&](Value index) {
      offer(b, best, b.load(f32(), b.at(list.values, index, f32())), b.load(b.getI32Type(), b.at(list.tokens, index, f32())));
    });
  });
}

} // namespace xf::cpu
