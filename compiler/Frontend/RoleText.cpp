// text(source = characters, suffix = [2], …): how lines become tokens, and tokens lines.
#include "compiler/Frontend/Roles.h"

using namespace xf::frontend;

namespace {

class Text : Directive {
public:
  using Directive::Directive;

  void run() {
    for (const Argument &argument : call.arguments)
      if (!readArgument(argument))
        return;
    write(mlir::xf::kTextAttr);
  }

private:
  bool readArgument(const Argument &argument) {
    const std::string &key = argument.name;
    std::string what = "'" + key + "' of text";
    if (key == "source" || key == "target")
      return readUnit(argument);
    if (key == "prefix" || key == "suffix" || key == "between")
      return readIds(argument, what);
    if (key == "unknown")
      return addIntegerArgument(argument, key, what);
    if (key == "lowercase") {
      auto flag = e.asBool(valueOf(argument), argument.value->loc, what);
      if (flag && *flag)
        addFlag(key);
      return true;
    }
    return fail(argument.loc, "text has no parameter '" + key + "' (source, target, prefix, suffix, between, unknown, lowercase)");
  }

  /// Reads what the tokens of a line are.
  bool readUnit(const Argument &argument) {
    auto unit = nameOf(argument);
    if (!unit || (*unit != "characters" && *unit != "words" && *unit != "subwords" && *unit != "ids"))
      return fail(argument.value->loc, "'" + argument.name + "' of text is characters, words, subwords or ids");
    addString(argument.name, *unit);
    return true;
  }

  bool readIds(const Argument &argument, const std::string &what) {
    Value value = valueOf(argument);
    if (isPoison(value) || holds<None>(value)) // none: as if it were not given
      return !isPoison(value);
    auto *list = getIf<std::shared_ptr<List>>(value);
    if (!list || (*list)->element)
      return fail(argument.value->loc, what + " is a list of ids, such as [2]");
    llvm::SmallVector<mlir::Attribute> ids;
    for (const Value &element : (*list)->elements) {
      auto id = asNonNegative(element, argument.value->loc, what);
      if (!id)
        return false;
      ids.push_back(builder.getI64IntegerAttr(*id));
    }
    add(argument.name, builder.getArrayAttr(ids));
    return true;
  }
};

} // namespace

void xf::frontend::runText(Evaluator &evaluator, const Expr &call, const ScopePtr &scope) { Text(evaluator, call, scope).run(); }
