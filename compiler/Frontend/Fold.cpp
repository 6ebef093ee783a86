// Arithmetic on compile-time numbers, checked for overflow and division by zero.
#include "compiler/Frontend/Fold.h"

#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <fmt/format.h>

using namespace xf::frontend;

namespace {
template <typename T> std::optional<bool> compare(llvm::StringRef op, T a, T b) {
  if (op == "==")
    return a == b;
  if (op == "!=")
    return a != b;
  if (op == "<")
    return a < b;
  if (op == "<=")
    return a <= b;
  if (op == ">")
    return a > b;
  if (op == ">=")
    return a >= b;
  return std::nullopt;
}

/// Computes a to the power of b, which is not negative; returns whether it overflows.
bool powerOverflow(int64_t a, int64_t b, int64_t &result) {
  if (-1 <= a && a <= 1)
    b = std::min(b, 2 - b % 2); // these powers repeat
  result = 1;
  bool failed = false;
  for (; b && !failed; --b)
    failed = llvm::MulOverflow(result, a, result);
  return failed;
}

/// Exact integer arithmetic; nothing if it overflows (`failed`) or the result is no integer.
std::optional<int64_t> foldInt(llvm::StringRef op, int64_t a, int64_t b, bool &failed) {
  int64_t result = 0;
  if (op == "+")
    failed = llvm::AddOverflow(a, b, result);
  else if (op == "-")
    failed = llvm::SubOverflow(a, b, result);
  else if (op == "*")
    failed = llvm::MulOverflow(a, b, result);
  else if (op == "/" && b == -1)
    failed = llvm::SubOverflow(int64_t(0), a, result);
  else if (op == "/" && a % b == 0)
    result = a / b;
  else if (op == "%" && b > 0)
    result = a % b + (a % b < 0 ? b : 0);
  else if (op == "div" && b > 0)
    result = a / b - (a % b < 0);
  else if (op == "min")
    result = std::min(a, b);
  else if (op == "max")
    result = std::max(a, b);
  else if (op == "^" && b >= 0)
    failed = powerOverflow(a, b, result);
  else
    return std::nullopt;
  return failed ? std::nullopt : std::optional<int64_t>(result);
}
std::optional<double> foldDouble(llvm::StringRef op, double a, double b) {
  if (op == "+")
    return a + b;
  if (op == "-")
    return a - b;
  if (op == "*")
    return a * b;
  if (op == "/")
    return a / b;
  if (op == "%") { // exact, also for an infinite b
    double remainder = std::fmod(a, b);
    return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
  }
  if (op == "div")
    return std::floor(a / b);
  if (op == "min")
    return std::min(a, b);
  if (op == "max")
    return std::max(a, b);
  if (op == "^")
    return std::pow(a, b);
  return std::nullopt;
}

/// Compares two values that are no numbers: None, strings or names of dimensions; nothing for other kinds.
std::optional<bool> areEqual(const Value &left, const Value &right) {
  if (holds<None>(left) || holds<None>(right))
    return holds<None>(left) && holds<None>(right);
  if (holds<std::string>(left) && holds<std::string>(right))
    return std::get<std::string>(left) == std::get<std::string>(right);
  if (holds<DimName>(left) && holds<DimName>(right))
    return std::get<DimName>(left).name == std::get<DimName>(right).name;
  return std::nullopt;
}
} // namespace

std::optional<Value> xf::frontend::fold(Messages &messages, llvm::StringRef op, const Value &left, const Value &right, Loc loc, bool &failed) {
  auto fail = [&](const std::string &message) {
    failed = true;
    messages.error(loc, message);
    return std::nullopt;
  };
  if (op == "==" || op == "!=")
    if (auto equal = areEqual(left, right))
      return Value(*equal == (op == "=="));
  if (!isNumber(left) || !isNumber(right))
    return std::nullopt;
  if (op == "&" || op == "|") {
    if (!holds<bool>(left) || !holds<bool>(right))
      return fail("'" + op.str() + "' joins booleans, not " + describe(holds<bool>(left) ? right : left));
    bool a = std::get<bool>(left), b = std::get<bool>(right);
    return Value(op == "&" ? (a && b) : (a || b));
  }
  if ((op == "/" || op == "%" || op == "div") && toDouble(right) == 0)
    return fail("division by zero");
  if (holds<int64_t>(left) && holds<int64_t>(right)) {
    int64_t a = std::get<int64_t>(left), b = std::get<int64_t>(right);
    bool overflow = false;
    if (auto result = compare(op, a, b))
      return Value(*result);
    if (auto result = foldInt(op, a, b, overflow))
      return Value(*result);
    if (overflow)
      return fail(fmt::format("{} {} {} is too large", a, op.str(), b));
    if ((op == "%" || op == "div") && b < 0)
      return fail(fmt::format("'{}' needs a positive divisor, not {}", op.str(), b));
  }
  double a = toDouble(left), b = toDouble(right);
  if (auto result = compare(op, a, b))
    return Value(*result);
  if (auto result = foldDouble(op, a, b))
    return Value(*result);
  return std::nullopt;
}
