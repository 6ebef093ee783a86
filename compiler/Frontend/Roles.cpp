// What a program does with its entries: the directives of the model that is compiled.
#include "compiler/Frontend/Roles.h"

#include <fmt/format.h>

using namespace xf::frontend;

mlir::xf::EntryOp Evaluator::findEntry(llvm::StringRef name, Loc loc) {
  for (EntryInfo &entry : entries)
    if (entry.function->name == name)
      return entry.op;
  error(loc, "'" + name.str() + "' is no entry of the model");
  return {};
}

void Evaluator::runDirectives(const InstanceRef &self) {
  std::set<std::string> seen;
  for (const Item *item : self.instance->directives) {
    const Expr &call = *item->value;
    const std::string &name = call.operands.empty() ? call.text : call.operands[0]->text;
    if (call.kind != ExprKind::Call) {
      error(item->loc, "'" + name + "' needs arguments");
      continue;
    }
    if (!seen.insert(name).second) {
      error(item->loc, "'" + name + "' is given twice");
      continue;
    }
    if (name == "generate")
      runGenerate(*this, call, selfScope(self));
    else if (name == "text")
      runText(*this, call, selfScope(self));
    else
      runPredict(*this, call, selfScope(self));
  }
}

std::optional<std::string> Directive::nameOf(const Argument &argument) {
  const Expr &expr = *argument.value;
  if (expr.kind == ExprKind::Name || expr.kind == ExprKind::String)
    return expr.text;
  return std::nullopt;
}

std::optional<std::string> Directive::needName(const Argument &argument, const std::string &what) {
  auto name = nameOf(argument);
  if (!name)
    e.error(argument.loc, what + " must be a name");
  return name;
}

std::optional<int64_t> Directive::asNumber(const Value &value, Loc loc, const std::string &what) {
  auto number = e.asInt(value, loc, what);
  if (number && (*number < 0 || *number > INT32_MAX))
    return fail(loc, fmt::format("{} cannot be {}", what, *number)), std::nullopt;
  return number;
}

bool Directive::addNumber(const Argument &argument, llvm::StringRef key, const std::string &what) {
  Value value = valueOf(argument);
  if (holds<None>(value)) // as if it were not given
    return true;
  auto number = asNumber(value, argument.value->loc, what);
  if (number)
    addInteger(key, *number);
  return number.has_value();
}
