#include "compiler/Target/CPU/PanelRanking.h"

#include "compiler/Target/VectorMath.h"

#include <limits>

using namespace mlir;
using mlir::xf::ReduceKind;

namespace xf::cpu {

Value loadUntil(CodeBuilder &b, Value numbers, Value first, Value end, Value none) {
  Type f32 = b.getF32Type();
  Value lanes = b.firstLanes(b.min(b.i64(kLanes), b.sub(end, first)));
  return b.create<arith::SelectOp>(lanes, b.loadVector(f32, b.at(numbers, first, f32)), b.splat(none));
}

Value bitsOf(CodeBuilder &b, Value lanes) {
  return b.create<arith::ExtUIOp>(b.i64Type(), b.create<LLVM::BitcastOp>(b.getI16Type(), lanes));
}

Value placeOf(CodeBuilder &b, Value number, Value begin, Value end, llvm::function_ref<Value(Value)> numbersFrom) {
  Value all = b.splat(number);
  return b.accumulate(begin, end, kLanes, b.i64(-1), [&](Value first, Value carried) {
    Value lanes = bitsOf(b, b.create<arith::CmpFOp>(arith::CmpFPredicate::OEQ, numbersFrom(first), all));
    Value isFirst = b.both(b.less(b.i64(0), lanes), b.less(carried, b.i64(0)));
    Value place = b.add(first, b.create<LLVM::CountTrailingZerosOp>(b.i64Type(), lanes, /*is_zero_poison=*/false));
    return b.create<arith::SelectOp>(isFirst, place, carried);
  });
}

Value PanelRanking::numbersFrom(Value first) { return loadUntil(b, numbers, first, b.i64(count), none); }

void PanelRanking::rankGroup(Value group) {
  Type f32 = b.getF32Type();
  Value own = numbersFrom(b.mul(group, kLanes));
  b.store(reduceLanes(b, ReduceKind::max, own), b.at(maxima, group, f32));
  if (sums)
    b.store(reduceLanes(b, ReduceKind::sum, own), b.at(sums, group, f32));
}

void PanelRanking::rank() {
  b.loop(b.i64(0), b.i64(groups), 1, [&](Value group) { rankGroup(group); });
}

Value PanelRanking::overGroups(ReduceKind kind, Value ofGroups) {
  Value neutral = identity(b, kind, b.getF32Type());
  Value all = b.accumulate(b.i64(0), b.i64(groups), kLanes, b.splat(neutral), [&](Value group, Value carried) {
    return combine(b, kind, loadUntil(b, ofGroups, group, b.i64(groups), neutral), carried);
  });
  return reduceLanes(b, kind, all);
}

Value PanelRanking::takeOut(Value number) {
  Value noNumber = b.f32(std::numeric_limits<double>::quiet_NaN());
  Value group = placeOf(b, number, b.i64(0), b.i64(groups), [&](Value first) { return loadUntil(b, maxima, first, b.i64(groups), noNumber); });
  Value first = b.mul(group, kLanes);
  Value panel = placeOf(b, number, first, b.add(first, kLanes), [&](Value at) { return numbersFrom(at); });
  b.store(none, b.at(numbers, panel, b.getF32Type()));
  rankGroup(group);
  return panel;
}

} // namespace xf::cpu
