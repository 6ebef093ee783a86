// The directives of the model that is compiled: what a program does with its entries.
#include "compiler/Frontend/Roles.h"

#include <fmt/format.h>

using namespace xf::frontend;

void xf::frontend::runDirectives(Evaluator &e, const InstanceRef &model) {
  std::set<std::string> seen;
  for (const Item *item : model.instance->directives) {
    const Expr &call = *item->value;
    const std::string &name = call.operands.empty() ? call.text : call.operands[0]->text;
    if (call.kind != ExprKind::Call) {
      e.error(item->loc, "'" + name + "' needs arguments");
      continue;
    }
    if (!seen.insert(name).second) {
      e.error(item->loc, "'" + name + "' is given twice");
      continue;
    }
    if (name == "generate")
      runGenerate(e, call, e.selfScope(model));
    else if (name == "text")
      runText(e, call, e.selfScope(model));
    else
      runPredict(e, call, e.selfScope(model));
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

std::optional<int64_t> Directive::asNonNegative(const Value &value, Loc loc, const std::string &what) {
  auto integer = e.asInt(value, loc, what);
  if (integer && (*integer < 0 || *integer > INT32_MAX))
    return fail(loc, fmt::format("{} cannot be {}", what, *integer)), std::nullopt;
  return integer;
}

void Directive::write(llvm::StringRef attribute) {
  (*e.module)->setAttr(attribute, builder.getDictionaryAttr(members));
  mlir::xf::ModuleRoles roles(*e.module, attribute);
  for (const Argument &argument : call.arguments)
    if (!argument.name.empty())
      roles.setLoc(argument.name, e.at(argument.value->loc));
}

Loc Directive::argumentLoc(llvm::StringRef name) const {
  auto found = llvm::find_if(call.arguments, [&](const Argument &argument) { return argument.name == name; });
  return found == call.arguments.end() ? call.loc : found->value->loc;
}

bool Directive::addIntegerArgument(const Argument &argument, llvm::StringRef key, const std::string &what) {
  Value value = valueOf(argument);
  if (holds<None>(value)) // as if it were not given
    return true;
  auto integer = asNonNegative(value, argument.value->loc, what);
  if (integer)
    addInteger(key, *integer);
  return integer.has_value();
}
