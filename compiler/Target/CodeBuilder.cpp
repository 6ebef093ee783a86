#include "compiler/Target/CodeBuilder.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace xf::codegen {

void loadCodeDialects(MLIRContext *context) {
  context->loadDialect<arith::ArithDialect, math::MathDialect, scf::SCFDialect, vector::VectorDialect, LLVM::LLVMDialect>();
}

CodeBuilder::CodeBuilder(ModuleOp module, Isa isa, Location location)
    : ImplicitLocOpBuilder(location, module.getContext()), module_(module), isa_(isa) {}

CodeBuilder::CodeBuilder(ModuleOp module, StringRef name, ArrayRef<Type> arguments, Isa isa, Location location) : CodeBuilder(module, isa, location) {
  setInsertionPointToEnd(module.getBody());
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(getContext()), arguments);
  function_ = create<LLVM::LLVMFuncOp>(name, type);
  setInsertionPointToStart(function_.addEntryBlock(*this));
}

Value CodeBuilder::falseValue() { return create<arith::ConstantIntOp>(getI1Type(), 0); }
Value CodeBuilder::isNot(Value condition) { return create<arith::XOrIOp>(condition, create<arith::ConstantIntOp>(getI1Type(), 1)); }
Value CodeBuilder::both(Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  return create<arith::AndIOp>(a, b);
}
Value CodeBuilder::either(Value a, Value b) { return create<arith::OrIOp>(a, b); }
Value CodeBuilder::i64(int64_t value) { return create<arith::ConstantIntOp>(getI64Type(), value); }
Value CodeBuilder::i32(int64_t value) { return create<arith::ConstantIntOp>(getI32Type(), static_cast<int32_t>(value)); }
Value CodeBuilder::f32(double value) { return create<arith::ConstantOp>(getF32FloatAttr(static_cast<float>(value))); }
/// A constant of `type`, each element of which is `element`.
static Value constantOf(CodeBuilder &b, Type type, TypedAttr element) {
  auto vector = dyn_cast<VectorType>(type);
  return b.create<arith::ConstantOp>(vector ? DenseElementsAttr::get(vector, Attribute(element)) : element);
}
Value CodeBuilder::integer(Type type, int64_t value) { return constantOf(*this, type, getIntegerAttr(getElementTypeOrSelf(type), value)); }
Value CodeBuilder::real(Type type, double value) { return constantOf(*this, type, getFloatAttr(getElementTypeOrSelf(type), value)); }
Value CodeBuilder::splat(Value value) { return createOrFold<vector::BroadcastOp>(vectorOf(value.getType()), value); }
Value CodeBuilder::splatF32(double value) { return splat(f32(value)); }
Value CodeBuilder::lanes() {
  SmallVector<int32_t> indices;
  for (int32_t i = 0; i < kLanes; ++i)
    indices.push_back(i);
  return create<arith::ConstantOp>(getI32VectorAttr(indices));
}

Value CodeBuilder::add(Value a, Value b) { return createOrFold<arith::AddIOp>(a, b); }
Value CodeBuilder::sub(Value a, Value b) { return createOrFold<arith::SubIOp>(a, b); }
Value CodeBuilder::mul(Value a, Value b) { return createOrFold<arith::MulIOp>(a, b); }
Value CodeBuilder::div(Value a, Value b) { return createOrFold<arith::DivUIOp>(a, b); }
Value CodeBuilder::rem(Value a, Value b) { return createOrFold<arith::RemUIOp>(a, b); }
Value CodeBuilder::min(Value a, Value b) { return createOrFold<arith::MinSIOp>(a, b); }
Value CodeBuilder::max(Value a, Value b) { return createOrFold<arith::MaxSIOp>(a, b); }
Value CodeBuilder::less(Value a, Value b) { return createOrFold<arith::CmpIOp>(arith::CmpIPredicate::slt, a, b); }
Value CodeBuilder::equal(Value a, Value b) { return createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq, a, b); }

Value CodeBuilder::toI64(Value integer) {
  if (integer.getType().isInteger(64))
    return integer;
  if (integer.getType().isIndex())
    return create<arith::IndexCastOp>(getI64Type(), integer);
  return create<arith::ExtSIOp>(getI64Type(), integer);
}

Value CodeBuilder::opaque(Value value) {
  StringRef sameRegister = mlir::isa<VectorType>(value.getType()) ? "=v,0" : "=r,0";
  return create<LLVM::InlineAsmOp>(TypeRange(value.getType()), value, "", sameRegister, /*has_side_effects=*/false,
                                   /*is_align_stack=*/false, LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr())
      .getResult(0);
}

std::pair<Value, Value> CodeBuilder::part(Value total, Value index, Value parts) {
  Value begin = div(mul(total, index), parts), end = div(mul(total, add(index, 1)), parts);
  return {begin, end};
}

void CodeBuilder::loop(Value from, Value to, int64_t step, LoopBody body) {
  loop(from, to, step, ValueRange(), [&](Value i, ValueRange) {
    body(i);
    return SmallVector<Value>();
  });
}

SmallVector<Value> CodeBuilder::loop(Value from, Value to, int64_t step, ValueRange carried, CarryingBody body) {
  auto op = create<scf::ForOp>(from, to, i64(step), carried);
  OpBuilder::InsertionGuard guard(*this);
  // Without carried values the op comes with its terminator.
  if (!op.getBody()->empty())
    op.getBody()->getTerminator()->erase();
  setInsertionPointToStart(op.getBody());
  create<scf::YieldOp>(body(op.getInductionVar(), op.getRegionIterArgs()));
  return llvm::to_vector_of<Value>(op.getResults());
}

Value CodeBuilder::accumulate(Value from, Value to, int64_t step, Value start, function_ref<Value(Value, Value)> body) {
  return loop(from, to, step, start, [&](Value i, ValueRange carried) { return SmallVector<Value>{body(i, carried[0])}; })[0];
}

void CodeBuilder::loopWhile(Type type, function_ref<std::pair<Value, Value>()> next, LoopBody body) {
  auto op = create<scf::WhileOp>(TypeRange(type), ValueRange());
  OpBuilder::InsertionGuard guard(*this);
  createBlock(&op.getBefore());
  auto [condition, value] = next();
  create<scf::ConditionOp>(condition, value);
  createBlock(&op.getAfter(), {}, {type}, {getLoc()});
  body(op.getAfter().getArgument(0));
  create<scf::YieldOp>();
}

void CodeBuilder::ifThen(Value condition, function_ref<void()> then) {
  auto op = create<scf::IfOp>(TypeRange(), condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPoint(op.thenBlock()->getTerminator());
  then();
}

void CodeBuilder::ifElse(Value condition, function_ref<void()> then, function_ref<void()> otherwise) {
  auto op = create<scf::IfOp>(TypeRange(), condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPoint(op.thenBlock()->getTerminator());
  then();
  setInsertionPoint(op.elseBlock()->getTerminator());
  otherwise();
}

SmallVector<Value> CodeBuilder::choose(Value condition, function_ref<SmallVector<Value>()> then, function_ref<SmallVector<Value>()> otherwise) {
  // The op's builder enters each branch with this very builder.
  auto op = create<scf::IfOp>(
      condition, [&](OpBuilder &, Location) { create<scf::YieldOp>(then()); }, [&](OpBuilder &, Location) { create<scf::YieldOp>(otherwise()); });
  return llvm::to_vector_of<Value>(op.getResults());
}

Value CodeBuilder::chooseOne(Value condition, function_ref<Value()> then, function_ref<Value()> otherwise) {
  return choose(condition, [&] { return SmallVector<Value>{then()}; }, [&] { return SmallVector<Value>{otherwise()}; })[0];
}

} // namespace xf::codegen
