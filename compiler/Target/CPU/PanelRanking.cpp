#include "compiler/Target/CPU/PanelRanking.h"

#include "compiler/Target/VectorMath.h"

#include <limits>

using namespace mlir;
using mlir::xf::ReduceKind;

namespace xf::cpu {

Value loadUntil(CodeBuilder &b, Value values, Value first, Value end, Value none) {
  Type f32 = b.getF32Type();
  Value lanes = b.firstLanes(b.min(b.i64(kLanes), b.sub(end, first)));
  return b.create<arith::SelectOp>(lanes, b.loadVector(f32, b.at(values, first, f32)), b.splat(none));
}

Value bitsOf(CodeBuilder &b, Value lanes) { return b.create<arith::ExtUIOp>(b.i64Type(), b.create<LLVM::BitcastOp>(b.getI16Type(), lanes)); }

Value indexOf(CodeBuilder &b, Value value, Value begin, Value end, llvm::function_ref<Value(Value)> valuesFrom) {
  Value all = b.splat(value);
  return b.accumulate(begin, end, kLanes, b.i64(-1), [&](Value first, Value carried) {
    Value lanes = bitsOf(b, b.create<arith::CmpFOp>(arith::CmpFPredicate::OEQ, valuesFrom(first), all));
    Value isFirst = b.both(b.less(b.i64(0), lanes), b.less(carried, b.i64(0)));
    Value index = b.add(first, b.create<LLVM::CountTrailingZerosOp>(b.i64Type(), lanes, /*is_zero_poison=*/false));
    return b.create<arith::SelectOp>(isFirst, index, carried);
  });
}

Value PanelRanking::valuesFrom(Value first) { return loadUntil(b, values, first, b.i64(count), none); }

void PanelRanking::rankGroup(Value group) {
  Type f32 = b.getF32Type();
  Value own = valuesFrom(b.mul(group, kLanes));
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

Value PanelRanking::takeOut(Value value) {
  Value nan = b.f32(std::numeric_limits<double>::quiet_NaN());
  Value group = indexOf(b, value, b.i64(0), b.i64(groups), [&](Value first) { return loadUntil(b, maxima, first, b.i64(groups), nan); });
  Value first = b.mul(group, kLanes);
  Value panel = indexOf(b, value, first, b.add(first, kLanes), [&](Value at) { return valuesFrom(at); });
  b.store(none, b.at(values, panel, b.getF32Type()));
  rankGroup(group);
  return panel;
}

} // namespace xf::cpu
