// Operators and functions on values of every kind: folded, as scalar code, or as an xf.map over tensors.
#include "compiler/Frontend/Evaluator.h"

#include <cmath>
#include <fmt/format.h>

using namespace xf::frontend;

Value Evaluator::elementwise(llvm::ArrayRef<Value> operands, Loc loc, llvm::StringRef what,
                             llvm::function_ref<mlir::Value(llvm::ArrayRef<Operand>)> emit) {
  std::vector<Value> values;
  llvm::SmallVector<mlir::Value> tensors;
  bool scalars = false;
  for (const Value &operand : operands) {
    Value value = force(operand, loc);
    if (isPoison(value))
      return value;
    if (auto *tensor = getIf<Tensor>(value); tensor && currentScan)
      value = scanInput(tensor->value, loc, false);
    if (isPoison(value))
      return value;
    if (auto *tensor = getIf<Tensor>(value))
      tensors.push_back(tensor->value);
    else if (holds<LazyInput *>(value))
      return asTensor(value, loc, what), Poison{};
    else if (!scalarOperand(value))
      return poison(loc, "'" + what.str() + "' is not defined for " + describe(value));
    scalars |= holds<Scalar>(value);
    values.push_back(std::move(value));
  }
  if (!inBody || (tensors.empty() && !scalars))
    return poison(loc, "'" + what.str() + "' needs a tensor here");
  llvm::SmallVector<Operand> elements;
  if (tensors.empty()) {
    for (const Value &value : values)
      elements.push_back(*scalarOperand(value));
    mlir::Value result = emit(elements);
    return result ? Value(Scalar{result, {}}) : Value(Poison{});
  }
  if (scalars) {
    error(loc, "'" + what.str() + "' mixes a tensor with an element; the tensor needs an index here");
    noteValue(tensors.front(), "the tensor");
    return Poison{};
  }
  auto shape = broadcast(tensors, loc);
  if (!shape)
    return Poison{};
  mlir::Region region;
  mlir::Block *block = &region.emplaceBlock();
  llvm::SmallVector<mlir::Attribute> maps;
  for (mlir::Value tensor : tensors) {
    auto type = llvm::cast<mlir::RankedTensorType>(tensor.getType());
    block->addArgument(type.getElementType(), at(loc));
    llvm::SmallVector<int64_t> map;
    for (int64_t d = 0; d < type.getRank(); ++d) {
      int64_t target = shape->size() - type.getRank() + d;
      map.push_back(dimOf(type, d) == (*shape)[target] ? target : -1);
    }
    maps.push_back(builder.getDenseI64ArrayAttr(map));
  }
  size_t next = 0;
  for (const Value &value : values)
    elements.push_back(holds<Tensor>(value) ? Operand(mlir::Value(block->getArgument(next++))) : *scalarOperand(value));
  mlir::Value element;
  {
    mlir::OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(block);
    element = emit(elements);
    if (!element)
      return Poison{};
    mlir::xf::YieldOp::create(builder, at(loc), element);
  }
  mlir::OperationState state(at(loc), mlir::xf::MapOp::getOperationName());
  mlir::Type type = tensorOf(*shape, element.getType());
  mlir::xf::MapOp::build(builder, state, type, tensors, builder.getArrayAttr(maps));
  state.regions[0]->takeBody(region);
  return Tensor{builder.create(state)->getResult(0)};
}

Value Evaluator::binary(llvm::StringRef op, const Value &left, const Value &right, Loc loc) {
  if (isPoison(left) || isPoison(right))
    return Poison{};
  bool failed = false;
  if (auto folded = fold(op, left, right, loc, failed))
    return *folded;
  if (failed)
    return Poison{};
  auto isMask = [](const Value &v) {
    return holds<std::shared_ptr<Term>>(v) || holds<std::shared_ptr<Closure>>(v) || holds<None>(v) || holds<BoundMethod>(v);
  };
  if ((op == "&" || op == "|") && (isMask(left) || isMask(right)))
    return joinMasks(op, left, right, loc);
  // Positions with an offset stay positions, for tables and for the derived step.
  auto *tensor = getIf<Tensor>(left);
  auto *offset = getIf<int64_t>(right);
  if (tensor && offset && (op == "+" || op == "-"))
    if (auto positions = tensor->value.getDefiningOp<mlir::xf::PositionsOp>(); positions && !positions.getPast()) {
      int64_t sum = 0;
      if (!__builtin_add_overflow(static_cast<int64_t>(positions.getOffset()), op == "+" ? *offset : -*offset, &sum))
        return Tensor{mlir::xf::PositionsOp::create(builder, at(loc), positions.getType(), mlir::Value(), sum)};
    }
  return elementwise({left, right}, loc, op, [&](llvm::ArrayRef<Operand> e) { return emitBinary(op, e[0], e[1], loc); });
}

Value Evaluator::unary(llvm::StringRef op, const Value &operand, Loc loc) {
  if (isPoison(operand))
    return operand;
  if (auto *integer = getIf<int64_t>(operand)) {
    if (op == "-" && *integer != INT64_MIN)
      return -*integer;
    if (op == "abs" && *integer != INT64_MIN)
      return *integer < 0 ? -*integer : *integer;
    if (op == "floor" || op == "int")
      return operand;
  }
  if (auto *b = getIf<bool>(operand); b && op == "!")
    return !*b;
  if (isNumber(operand)) {
    double x = toDouble(operand);
    if (op == "int") {
      if (!(std::abs(x) < 9e18))
        return poison(loc, fmt::format("{} is no integer", x));
      return static_cast<int64_t>(x);
    }
    static const std::map<llvm::StringRef, double (*)(double)> functions = {
        {"exp", std::exp}, {"log", std::log},   {"sqrt", std::sqrt}, {"sin", std::sin},     {"cos", std::cos},
        {"tanh", std::tanh}, {"erf", std::erf}, {"abs", std::fabs},  {"floor", std::floor}, {"float", [](double v) { return v; }},
        {"-", [](double v) { return -v; }}};
    if ((op == "sqrt" && x < 0) || (op == "log" && x <= 0))
      return poison(loc, fmt::format("{}({}) is not a number", op.str(), x));
    auto function = functions.find(op);
    return function == functions.end() ? poison(loc, "'" + op.str() + "' is not defined for " + describe(operand))
                                       : Value(function->second(x));
  }
  if (op == "!" && (holds<std::shared_ptr<Term>>(operand) || holds<std::shared_ptr<Closure>>(operand))) {
    Value inner = asTerm(operand, false, loc);
    if (isPoison(inner))
      return inner;
    auto term = std::make_shared<Term>();
    term->kind = Term::Not;
    term->loc = loc;
    term->operands = {inner};
    return term;
  }
  return elementwise({operand}, loc, op, [&](llvm::ArrayRef<Operand> e) { return emitUnary(op, e[0], loc); });
}

Value Evaluator::joinMasks(llvm::StringRef op, const Value &left, const Value &right, Loc loc) {
  if (op == "&" && (holds<None>(left) || holds<None>(right)))
    return holds<None>(left) ? right : left;
  auto term = std::make_shared<Term>();
  term->kind = op == "&" ? Term::And : Term::Or;
  term->loc = loc;
  for (const Value &operand : {left, right}) {
    Value value = force(operand, loc);
    if (!holds<Tensor>(value))
      value = asTerm(value, false, loc);
    if (isPoison(value))
      return value;
    term->operands.push_back(value);
  }
  return term;
}
