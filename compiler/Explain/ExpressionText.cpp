#include "compiler/Explain/ExpressionText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace xf::frontend;

namespace xf {
namespace {

/// How tightly expressions bind, the loosest first.
enum Binding { conditional, either, both, comparison, sum, product, sign, power, postfix };

Binding bindingOf(const Expr &expr) {
  switch (expr.kind) {
  case ExprKind::Binary:
    return llvm::StringSwitch<Binding>(expr.text)
        .Case("|", either)
        .Case("&", both)
        .Cases({"+", "-"}, sum)
        .Cases({"*", "/", "%", "@"}, product)
        .Case("^", power)
        .Default(comparison);
  case ExprKind::Unary:
    return sign;
  case ExprKind::If:
  case ExprKind::Lambda:
  case ExprKind::Scan:
    return conditional;
  default:
    return postfix;
  }
}

/// The expression's text, in parentheses if it binds less tightly than `least`.
std::string inside(const Expr &expr, Binding least) {
  std::string text = textOf(expr);
  return bindingOf(expr) < least ? "(" + text + ")" : text;
}

std::string binaryText(const Expr &expr) {
  Binding own = bindingOf(expr);
  Binding left = own == power ? postfix : own == comparison ? sum : own;
  Binding right = own == power ? sign : Binding(own + 1);
  return inside(*expr.operands[0], left) + " " + expr.text + " " + inside(*expr.operands[1], right);
}

std::string join(llvm::ArrayRef<std::string> parts) {
  std::string text;
  for (const std::string &part : parts)
    text += (text.empty() ? "" : ", ") + part;
  return text;
}

/// Parts that stand in brackets or between keywords; "..." if they are long.
std::string listed(llvm::ArrayRef<std::string> parts) {
  constexpr size_t kLongest = 22;
  std::string text = join(parts);
  return text.size() <= kLongest ? text : "...";
}

std::vector<std::string> texts(llvm::ArrayRef<ExprPtr> expressions) {
  std::vector<std::string> parts;
  for (const ExprPtr &each : expressions)
    parts.push_back(textOf(*each));
  return parts;
}

std::string callText(const Expr &expr) {
  std::vector<std::string> arguments;
  for (const Argument &argument : expr.arguments)
    arguments.push_back((argument.name.empty() ? "" : argument.name + " = ") + textOf(*argument.value));
  return inside(*expr.operands[0], postfix) + "(" + listed(arguments) + ")";
}

/// start:stop:step, each of which may be missing.
std::string sliceText(const Expr &expr) {
  std::string text, colon = llvm::any_of(expr.operands, [](const ExprPtr &part) { return part && bindingOf(*part) < postfix; }) ? " : " : ":";
  for (auto [i, part] : llvm::enumerate(expr.operands))
    if (i < 2 || part)
      text += (i ? colon : "") + (part ? textOf(*part) : "");
  return text;
}

std::string lambdaText(const Expr &expr) {
  std::vector<std::string> names;
  for (const Param &param : expr.params)
    names.push_back(param.name);
  return (names.size() == 1 ? names[0] : "(" + join(names) + ")") + " -> " + textOf(*expr.operands[0]);
}

} // namespace

std::string textOf(const Expr &expr) {
  llvm::ArrayRef<ExprPtr> operands = expr.operands;
  switch (expr.kind) {
  case ExprKind::Integer:
  case ExprKind::Float:
  case ExprKind::Name:
    return expr.text;
  case ExprKind::String:
    return '"' + expr.text + '"';
  case ExprKind::Unary:
    return expr.text + inside(*operands[0], sign);
  case ExprKind::Binary:
    return binaryText(expr);
  case ExprKind::Member:
    return inside(*operands[0], postfix) + "." + expr.text;
  case ExprKind::Call:
    return callText(expr);
  case ExprKind::Index:
    return inside(*operands[0], postfix) + "[" + listed(texts(operands.drop_front())) + "]";
  case ExprKind::Slice:
    return sliceText(expr);
  case ExprKind::Ellipsis:
    return "..";
  case ExprKind::List:
    return "[" + listed(texts(operands)) + "]";
  case ExprKind::Tuple:
    return "(" + listed(texts(operands)) + ")";
  case ExprKind::If:
    return "if " + listed(textOf(*operands[0])) + " then " + listed(textOf(*operands[1])) + " else " + listed(textOf(*operands[2]));
  case ExprKind::Lambda:
    return lambdaText(expr);
  case ExprKind::Scan:
    return "scan " + expr.text + " along " + textOf(*operands[0]) + (expr.isReversed ? " reversed" : "");
  }
  llvm_unreachable("unknown expression");
}

void forEachPart(const Expr &expr, llvm::function_ref<void(const Expr &)> visit) {
  for (const ExprPtr &operand : expr.operands)
    if (operand)
      visit(*operand);
  for (const Argument &argument : expr.arguments)
    visit(*argument.value);
}

} // namespace xf
