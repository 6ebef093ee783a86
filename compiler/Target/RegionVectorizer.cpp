#include "compiler/Target/RegionVectorizer.h"

#include "compiler/Target/MathFunctions.h"
#include "compiler/Target/VectorMath.h"

using namespace mlir;

namespace xf::codegen {

void RegionVectorizer::bindLanes(Value value, Value base) {
  Value first = b.splat(b.create<arith::TruncIOp>(b.getI32Type(), base));
  mapping[value] = b.create<arith::AddIOp>(first, b.lanes());
}

Value RegionVectorizer::toVector(Value value, bool wide) {
  if (isVector(value))
    return value;
  if (value.getType().isInteger(64) && !wide)
    value = b.createOrFold<arith::TruncIOp>(b.getI32Type(), value);
  return b.splat(value);
}

Value RegionVectorizer::emit(Value value) {
  if (Value found = mapping.lookup(value))
    return found;
  Operation *op = value.getDefiningOp();
  Value emitted = emitOp(op);
  if (llvm::any_of(op->getOperands(), [&](Value operand) { return differs(mapping.lookup(operand)); }))
    elements.insert(emitted);
  mapping[value] = emitted;
  return emitted;
}

SmallVector<Value> RegionVectorizer::emitYields(Block &body) {
  SmallVector<Value> results;
  for (Value value : body.getTerminator()->getOperands())
    results.push_back(emit(value));
  return results;
}

/// An index is an i64 alone and an i32 in a vector, so a cast changes the width only.
Value RegionVectorizer::castIndex(Operation *op, Value operand) {
  Type target = op->getResult(0).getType();
  unsigned width = target.isIndex() ? (isVector(operand) ? 32 : 64) : target.getIntOrFloatBitWidth();
  Type type = b.getIntegerType(width);
  if (isVector(operand))
    type = b.vectorOf(type);
  unsigned from = getElementTypeOrSelf(operand.getType()).getIntOrFloatBitWidth();
  if (from == width)
    return operand;
  if (from > width)
    return b.create<arith::TruncIOp>(type, operand);
  return isa<arith::IndexCastUIOp>(op) || from == 1 ? b.create<arith::ExtUIOp>(type, operand).getResult()
                                                    : b.create<arith::ExtSIOp>(type, operand).getResult();
}

/// The larger or the smaller operand: NaN if either is, or (MaxNumF, MinNumF) only if both are.
Value RegionVectorizer::emitExtremum(Operation *op, Value x, Value y) {
  bool ifBoth = isa<arith::MaxNumFOp, arith::MinNumFOp>(op);
  auto choose = isa<arith::MaximumFOp, arith::MaxNumFOp>(op) ? maximum : minimum;
  // `choose` gives NaN exactly if its second operand is NaN: nothing more is to be done where the other one is a constant.
  if (matchPattern(op->getOperand(1), m_Constant()))
    std::swap(x, y);
  if (llvm::any_of(op->getOperands(), [](Value operand) { return matchPattern(operand, m_Constant()); }))
    return ifBoth ? choose(b, y, x) : choose(b, x, y);
  Value tested = ifBoth ? y : x, isNaN = b.create<arith::CmpFOp>(arith::CmpFPredicate::UNO, tested, tested);
  return b.create<arith::SelectOp>(isNaN, x, choose(b, x, y));
}

Value RegionVectorizer::emitOp(Operation *op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    if (op->getResult(0).getType().isIndex())
      return b.i64(cast<IntegerAttr>(constant.getValue()).getInt());
    return b.create<arith::ConstantOp>(constant.getValue());
  }
  if (auto at = dyn_cast<mlir::xf::AtOp>(op))
    return reader(*this, at);

  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(emit(operand));
  // Division is expensive: by a value that all elements share it becomes a multiplication.
  if (isa<arith::DivFOp>(op) && differs(operands[0]) && !differs(operands[1])) {
    Value reciprocal = b.create<arith::DivFOp>(b.f32(1), operands[1]);
    return b.create<arith::MulFOp>(operands[0], isVector(operands[0]) ? b.splat(reciprocal) : reciprocal);
  }
  bool anyVector = llvm::any_of(operands, isVector);
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op))
    return castIndex(op, operands[0]);
  if (anyVector)
    for (auto [i, operand] : llvm::enumerate(operands))
      // A condition that all lanes share may stay a scalar.
      if (!isa<arith::SelectOp>(op) || i != 0)
        operand = toVector(operand, /*wide=*/op->getOperand(i).getType().isInteger(64));

  if (isa<arith::MaximumFOp, arith::MaxNumFOp, arith::MinimumFOp, arith::MinNumFOp>(op))
    return emitExtremum(op, operands[0], operands[1]);
  auto has16Bits = [](Type type) { return type.isBF16() || type.isF16(); };
  if (isa<arith::TruncFOp>(op) && has16Bits(op->getResult(0).getType()))
    return narrowTo(b, operands[0], op->getResult(0).getType());
  if (isa<arith::ExtFOp>(op) && has16Bits(op->getOperand(0).getType()))
    return widenFrom(b, operands[0], op->getOperand(0).getType());
  if (Value function = emitFunction(b, op, operands))
    return function;

  Type type = op->getResult(0).getType();
  if (type.isIndex())
    type = anyVector ? b.getI32Type() : b.getI64Type();
  if (anyVector)
    type = b.vectorOf(type);
  // No processor converts integers to 16-bit floats: by way of f32.
  Type narrow = isa<arith::SIToFPOp, arith::UIToFPOp>(op) && has16Bits(op->getResult(0).getType()) ? op->getResult(0).getType() : Type();
  if (narrow)
    type = anyVector ? b.vectorOf(b.getF32Type()) : Type(b.getF32Type());
  OperationState state(b.getLoc(), op->getName(), operands, type, op->getAttrs());
  state.propertiesAttr = op->getPropertiesAsAttribute();
  Value result = b.create(state)->getResult(0);
  return narrow ? narrowTo(b, result, narrow) : result;
}

} // namespace xf::codegen
