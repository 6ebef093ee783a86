#include "compiler/Target/RowReduction.h"

#include "compiler/Target/VectorMath.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf::codegen {

static bool isMagnitude(Value value) {
  auto map = value.getDefiningOp<MapOp>();
  if (!map)
    return false;
  unsigned resultNumber = cast<OpResult>(value).getResultNumber();
  return map.getBody().front().getTerminator()->getOperand(resultNumber).getDefiningOp<math::AbsFOp>() != nullptr;
}

RowReduction::RowReduction(ReduceOp op)
    : kind(op.getKind()), element(getElementTypeOrSelf(op.getX().getType())), ofMagnitudes(isMagnitude(op.getX())) {}

Value RowReduction::identity(CodeBuilder &b) const { return codegen::identity(b, kind, element); }

Value RowReduction::combine(CodeBuilder &b, Value value, Value running) const {
  if (kind != ReduceKind::max || !isa<FloatType>(element))
    return codegen::combine(b, kind, value, running);
  Type type = value.getType();
  if (!ofMagnitudes) {
    Value isNaN = b.create<arith::CmpFOp>(arith::CmpFPredicate::UNO, value, value);
    return b.create<arith::SelectOp>(isNaN, value, maximum(b, value, running));
  }
  // Magnitudes are ordered as their bits are, NaN above all, the identity below. It takes one instruction, as where NaN is dropped.
  auto vector = dyn_cast<VectorType>(type);
  Type word = b.getI32Type(), bits = vector ? Type(vector.clone(word)) : word;
  Value larger = b.create<arith::MaxSIOp>(b.create<arith::BitcastOp>(bits, value), b.create<arith::BitcastOp>(bits, running));
  return b.create<arith::BitcastOp>(type, larger);
}

Value RowReduction::reduceLanes(CodeBuilder &b, Value vector) const {
  return codegen::reduceLanes(b, vector, [&](Value high, Value low) { return combine(b, high, low); });
}

} // namespace xf::codegen
