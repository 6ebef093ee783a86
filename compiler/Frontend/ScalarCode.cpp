#include "compiler/Frontend/ScalarCode.h"
#include "compiler/Frontend/Ranges.h"

#include <cmath>
#include <fmt/format.h>

using namespace xf::frontend;
namespace arith = mlir::arith;
namespace math = mlir::math;

std::optional<Operand> xf::frontend::operandOf(const Value &value) {
  if (auto *scalar = getIf<Scalar>(value))
    return scalar->value;
  if (auto *i = getIf<int64_t>(value))
    return *i;
  if (auto *d = getIf<double>(value))
    return *d;
  if (auto *b = getIf<bool>(value))
    return *b;
  return std::nullopt;
}

template <typename Op> static mlir::Value create(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value x) { return Op::create(builder, loc, x); }

llvm::ArrayRef<RealFunction> xf::frontend::realFunctions() {
  static constexpr RealFunction functions[] = {
      {"exp", std::exp, create<math::ExpOp>},       {"expm1", std::expm1, create<math::ExpM1Op>}, {"log", std::log, create<math::LogOp>},
      {"log1p", std::log1p, create<math::Log1pOp>}, {"sqrt", std::sqrt, create<math::SqrtOp>},    {"sin", std::sin, create<math::SinOp>},
      {"cos", std::cos, create<math::CosOp>},       {"tanh", std::tanh, create<math::TanhOp>},    {"erf", std::erf, create<math::ErfOp>},
      {"abs", std::fabs, create<math::AbsFOp>},     {"floor", std::floor, create<math::FloorOp>}};
  return functions;
}

const RealFunction *xf::frontend::findRealFunction(llvm::StringRef name) {
  auto functions = realFunctions();
  auto found = llvm::find_if(functions, [&](const RealFunction &function) { return function.name == name; });
  return found == functions.end() ? nullptr : found;
}

/// The type that operands are converted to: the real type if `real` or if one of them is a real number.
mlir::Type ScalarCode::commonType(llvm::ArrayRef<Operand> operands, bool real) const {
  mlir::Type widest;
  auto rank = [](mlir::Type type) { return type.isInteger(1) ? 0 : type.isIndex() ? 2 : llvm::isa<mlir::FloatType>(type) ? 3 : 1; };
  bool hasInteger = false;
  for (const Operand &operand : operands) {
    real |= std::holds_alternative<double>(operand);
    hasInteger |= std::holds_alternative<int64_t>(operand);
    if (auto *value = std::get_if<mlir::Value>(&operand); value && (!widest || rank(value->getType()) > rank(widest)))
      widest = value->getType();
  }
  if (widest && llvm::isa<mlir::FloatType>(widest))
    return widest;
  if (real || !widest)
    return realType;
  return widest.isInteger(1) && hasInteger ? mlir::Type(mlir::IntegerType::get(realType.getContext(), 32)) : widest;
}

/// Converts an f32 value to an integer: values beyond 32 bits become the least or the largest integer, NaN the least. Otherwise
/// results would differ from processor to processor.
static mlir::Value toInteger(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value) {
  auto within = [&](arith::CmpFPredicate predicate, mlir::Value bound) { return arith::CmpFOp::create(builder, loc, predicate, value, bound); };
  mlir::Value lowerBound = arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(-0x1p31f));
  mlir::Value upperBound = arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0x1p31f));
  mlir::Value maxInteger = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(INT32_MAX));
  value = arith::SelectOp::create(builder, loc, within(arith::CmpFPredicate::OGE, lowerBound), value, lowerBound);
  mlir::Value integer = arith::FPToSIOp::create(builder, loc, builder.getI32Type(), value);
  return arith::SelectOp::create(builder, loc, within(arith::CmpFPredicate::OLT, upperBound), integer, maxInteger);
}

/// Converts a value to a real type.
static mlir::Value castToReal(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, mlir::Type type) {
  mlir::Type from = value.getType();
  if (llvm::isa<mlir::FloatType>(from) && type.isF64())
    return arith::ExtFOp::create(builder, loc, type, value);
  if (llvm::isa<mlir::FloatType>(from))
    return arith::TruncFOp::create(builder, loc, type, value);
  if (from.isInteger(1))
    return arith::UIToFPOp::create(builder, loc, type, value);
  if (from.isIndex())
    value = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), value);
  return arith::SIToFPOp::create(builder, loc, type, value);
}

/// Converts a value to an integer type or a truth value.
static mlir::Value castToInteger(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, mlir::Type type) {
  mlir::Type from = value.getType();
  if (from.isF32() && type.isInteger(32))
    return toInteger(builder, loc, value);
  if (llvm::isa<mlir::FloatType>(from)) {
    value = arith::FPToSIOp::create(builder, loc, type.isIndex() ? builder.getI64Type() : type, value);
    return type.isIndex() ? arith::IndexCastOp::create(builder, loc, type, value).getResult() : value;
  }
  if (type.isInteger(1)) {
    mlir::Value zero = arith::ConstantOp::create(builder, loc, from, builder.getIntegerAttr(from, 0));
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, value, zero);
  }
  if (from.isInteger(1) && type.isIndex())
    return arith::IndexCastUIOp::create(builder, loc, type, value);
  if (from.isInteger(1))
    return arith::ExtUIOp::create(builder, loc, type, value);
  return arith::IndexCastOp::create(builder, loc, type, value);
}

/// A known number as a value of `type`.
template <typename T>
mlir::Value ScalarCode::constant(T number, mlir::Type type, Loc loc) {
  mlir::Location l = messages.at(loc);
  if (llvm::isa<mlir::FloatType>(type))
    return arith::ConstantOp::create(builder, l, type, builder.getFloatAttr(type, static_cast<double>(number)));
  auto integer = static_cast<int64_t>(number);
  bool isPosition = type.isIndex() && !realType.isF64(); // in tables indices have 64 bits
  if ((isPosition || type.isInteger(32)) && integer != static_cast<int32_t>(integer)) {
    messages.error(loc, fmt::format("{} does not fit a {}'s 32 bits", integer, isPosition ? "position" : "token"));
    return {};
  }
  return arith::ConstantOp::create(builder, l, type, builder.getIntegerAttr(type, integer));
}

mlir::Value ScalarCode::convert(Operand operand, mlir::Type type, Loc loc) {
  return std::visit(
      [&](auto known) -> mlir::Value {
        if constexpr (!std::is_same_v<decltype(known), mlir::Value>)
          return constant(known, type, loc);
        else if (known.getType() == type)
          return known;
        else
          return (llvm::isa<mlir::FloatType>(type) ? castToReal : castToInteger)(builder, messages.at(loc), known, type);
      },
      operand);
}

namespace {
/// An operator that has an operation of its own for numbers of either kind; null for others.
mlir::Value emitArithmetic(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef op, mlir::Value a, mlir::Value b) {
  bool real = llvm::isa<mlir::FloatType>(a.getType());
#define XF_ARITH(text, Real, Int)                                                                                                                    \
  if (op == text)                                                                                                                                    \
    return real ? arith::Real::create(builder, loc, a, b).getResult() : arith::Int::create(builder, loc, a, b).getResult();
  XF_ARITH("+", AddFOp, AddIOp)
  XF_ARITH("-", SubFOp, SubIOp)
  XF_ARITH("*", MulFOp, MulIOp)
  XF_ARITH("min", MinimumFOp, MinSIOp)
  XF_ARITH("max", MaximumFOp, MaxSIOp)
#undef XF_ARITH
  if (op == "/")
    return arith::DivFOp::create(builder, loc, a, b);
  if (op == "^")
    return math::PowFOp::create(builder, loc, a, b);
  if (op == "div" && !real)
    return arith::FloorDivSIOp::create(builder, loc, a, b);
  if (op == "div")
    return math::FloorOp::create(builder, loc, arith::DivFOp::create(builder, loc, a, b));
  return {};
}

/// Null for what is no comparison.
mlir::Value emitComparison(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef op, mlir::Value a, mlir::Value b) {
  static const std::map<llvm::StringRef, std::pair<arith::CmpFPredicate, arith::CmpIPredicate>> comparisons = {
      {"==", {arith::CmpFPredicate::OEQ, arith::CmpIPredicate::eq}}, {"!=", {arith::CmpFPredicate::UNE, arith::CmpIPredicate::ne}},
      {"<", {arith::CmpFPredicate::OLT, arith::CmpIPredicate::slt}}, {"<=", {arith::CmpFPredicate::OLE, arith::CmpIPredicate::sle}},
      {">", {arith::CmpFPredicate::OGT, arith::CmpIPredicate::sgt}}, {">=", {arith::CmpFPredicate::OGE, arith::CmpIPredicate::sge}}};
  auto comparison = comparisons.find(op);
  if (comparison == comparisons.end())
    return {};
  auto [real, integer] = comparison->second;
  return llvm::isa<mlir::FloatType>(a.getType()) ? arith::CmpFOp::create(builder, loc, real, a, b).getResult()
                                                 : arith::CmpIOp::create(builder, loc, integer, a, b).getResult();
}
} // namespace

mlir::Value ScalarCode::binary(llvm::StringRef op, Operand left, Operand right, Loc loc) {
  bool logical = op == "&" || op == "|";
  if (auto *exponent = std::get_if<int64_t>(&right); exponent && *exponent == 2 && op == "^") {
    mlir::Value x = convert(left, commonType({left}, false), loc);
    return binary("*", x, x, loc);
  }
  mlir::Type type = commonType({left, right}, op == "/" || op == "^");
  if (type.isInteger(1) && !logical && op != "==" && op != "!=")
    type = builder.getI32Type();
  mlir::Value a = convert(left, type, loc), b = convert(right, type, loc);
  if (!a || !b)
    return {};
  if (logical && !type.isInteger(1)) {
    messages.error(loc, "'" + op.str() + "' joins booleans, not numbers");
    return {};
  }
  mlir::Location l = messages.at(loc);
  if (logical)
    return op == "&" ? arith::AndIOp::create(builder, l, a, b).getResult() : arith::OrIOp::create(builder, l, a, b).getResult();
  if (op == "%")
    return remainder(a, b, loc);
  if (mlir::Value result = emitArithmetic(builder, l, op, a, b))
    return result;
  if (mlir::Value result = emitComparison(builder, l, op, a, b))
    return result;
  messages.error(loc, "'" + op.str() + "' is not defined for elements");
  return {};
}

/// The remainder of a division that rounds down: it has the divisor's sign, as when folded. The operations of `arith` give it the
/// dividend's.
mlir::Value ScalarCode::remainder(mlir::Value a, mlir::Value b, Loc loc) {
  mlir::Location l = messages.at(loc);
  bool real = llvm::isa<mlir::FloatType>(a.getType());
  auto truncated = [&](mlir::Value x) {
    return real ? arith::RemFOp::create(builder, l, x, b).getResult() : arith::RemSIOp::create(builder, l, x, b).getResult();
  };
  mlir::Value result = truncated(a);
  if (!real && isNonNegative(a) && isNonNegative(b))
    return result;
  // A second remainder by a small constant lets range analysis see that the result is below it.
  llvm::APInt divisor;
  if (!real && mlir::matchPattern(b, mlir::m_ConstantInt(&divisor)) && divisor.sgt(0) && divisor.sle(1 << 30))
    return truncated(binary("+", result, b, loc));
  mlir::Value wrongSign = binary("!=", binary("<", result, int64_t(0), loc), binary("<", b, int64_t(0), loc), loc);
  mlir::Value isWrong = binary("&", binary("!=", result, int64_t(0), loc), wrongSign, loc);
  return select(isWrong, binary("+", result, b, loc), result, loc);
}

mlir::Value ScalarCode::unary(llvm::StringRef op, Operand operand, Loc loc) {
  mlir::Location l = messages.at(loc);
  if (op == "!") {
    mlir::Value x = convert(operand, commonType({operand}, false), loc);
    if (x && x.getType().isInteger(1))
      return arith::XOrIOp::create(builder, l, x, convert(true, x.getType(), loc));
    messages.error(loc, "'!' negates booleans, not numbers");
    return {};
  }
  if (op == "int")
    return convert(operand, realType.isF64() ? mlir::Type(builder.getIndexType()) : mlir::Type(builder.getI32Type()), loc);
  if (op == "float")
    return convert(operand, realType, loc);
  bool keepsInteger = op == "-" || op == "abs";
  mlir::Type type = commonType({operand}, !keepsInteger);
  mlir::Value x = convert(operand, type, loc);
  if (!x)
    return {};
  if (keepsInteger && !llvm::isa<mlir::FloatType>(type)) {
    mlir::Value negative = binary("-", int64_t(0), x, loc);
    return op == "-" || !negative ? negative : binary("max", x, negative, loc);
  }
  if (op == "-")
    return arith::NegFOp::create(builder, l, x);
  if (const RealFunction *function = findRealFunction(op))
    return function->create(builder, l, x);
  messages.error(loc, "'" + op.str() + "' is not defined for elements");
  return {};
}

mlir::Value ScalarCode::select(Operand condition, Operand trueValue, Operand falseValue, Loc loc) {
  auto *conditionValue = std::get_if<mlir::Value>(&condition);
  if (!conditionValue || !conditionValue->getType().isInteger(1)) {
    messages.error(loc, "the condition must be a boolean");
    return {};
  }
  bool booleans = std::holds_alternative<bool>(trueValue) && std::holds_alternative<bool>(falseValue);
  mlir::Type type = booleans ? mlir::Type(builder.getI1Type()) : commonType({trueValue, falseValue}, false);
  mlir::Value a = convert(trueValue, type, loc), b = convert(falseValue, type, loc);
  if (!a || !b)
    return {};
  return arith::SelectOp::create(builder, messages.at(loc), *conditionValue, a, b);
}
