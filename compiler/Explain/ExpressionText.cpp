#include "compiler/Explain/ExpressionText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace xf::frontend;

namespace xf {
namespace {

/// How tightly expressions bind, the loosest first.
enum Precedence { conditional, logicalOr, logicalAnd, comparison, sum, product, unary, power, postfix };

Precedence precedenceOf(const Expr &expr) {
  switch (expr.kind) {
  case ExprKind::Binary:
    return llvm::StringSwitch<Precedence>(expr.text)
        .Case("|", logicalOr)
        .Case("&", logicalAnd)
        .Cases({"+", "-"}, sum)
        .Cases({"*", "/", "%", "@"}, product)
        .Case("^", power)
        .Default(comparison);
  case ExprKind::Unary:
    return unary;
  case ExprKind::If:
  case ExprKind::Lambda:
  case ExprKind::Scan:
    return conditional;
  default:
    return postfix;
  }
}

/// The expression's text, in parentheses if it binds less tightly than `minPrecedence`.
std::string parenthesized(const Expr &expr, Precedence minPrecedence) {
  std::string text = textOf(expr);
  return precedenceOf(expr) < minPrecedence ? "(" + text + ")" : text;
}

std::string binaryText(const Expr &expr) {
  Precedence precedence = precedenceOf(expr);
  Precedence left = precedence == power ? postfix : precedence == comparison ? sum : precedence;
  Precedence right = precedence == power ? unary : Precedence(precedence + 1);
  return parenthesized(*expr.operands[0], left) + " " + expr.text + " " + parenthesized(*expr.operands[1], right);
}

std::string join(llvm::ArrayRef<std::string> parts) {
  std::string text;
  for (const std::string &part : parts)
    text += (text.empty() ? "" : ", ") + part;
  return text;
}

/// Parts that stand in brackets or between keywords; "..." if they are long.
std::string listed(llvm::ArrayRef<std::string> parts) {
  constexpr size_t kMaxLength = 22;
  std::string text = join(parts);
  return text.size() <= kMaxLength ? text : "...";
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
  return parenthesized(*expr.operands[0], postfix) + "(" + listed(arguments) + ")";
}

/// start:stop:step, each of which may be missing.
std::string sliceText(const Expr &expr) {
  std::string text, colon = llvm::any_of(expr.operands, [](const ExprPtr &part) { return part && precedenceOf(*part) < postfix; }) ? " : " : ":";
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
    return expr.text + parenthesized(*operands[0], unary);
  case ExprKind::Binary:
    return binaryText(expr);
  case ExprKind::Member:
    return parenthesized(*operands[0], postfix) + "." + expr.text;
  case ExprKind::Call:
    return callText(expr);
  case ExprKind::Index:
    return parenthesized(*operands[0], postfix) + "[" + listed(texts(operands.drop_front())) + "]";
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
