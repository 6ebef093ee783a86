// text(source = characters, suffix = [2], …): how lines become tokens, and tokens lines.
#include "compiler/Frontend/Roles.h"

#include <fmt/format.h>

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
    if (key == "source" || key == "target")
      return readUnit(argument);
    Value value = valueOf(argument);
    if (isPoison(value))
      return false;
    bool isIds = key == "prefix" || key == "suffix" || key == "between";
    if (holds<None>(value) && (isIds || key == "unknown")) // as if it were not given
      return true;
    if (isIds)
      return readIds(argument, value);
    if (key == "unknown") {
      auto known = asId(value, argument.value->loc);
      if (known)
        addInteger(key, *known);
      return known.has_value();
    }
    if (key == "lowercase") {
      auto known = e.asBool(value, argument.value->loc, "'lowercase' of text");
      if (known && *known)
        addFlag(key);
      return true;
    }
    return fail(argument.loc, "text has no parameter '" + key + "' (source, target, prefix, suffix, between, unknown, lowercase)");
  }

  /// What a token of a line is.
  bool readUnit(const Argument &argument) {
    auto unit = nameOf(argument);
    if (!unit || (*unit != "characters" && *unit != "words" && *unit != "subwords" && *unit != "ids"))
      return fail(argument.value->loc, "'" + argument.name + "' of text is characters, words, subwords or ids");
    addString(argument.name, *unit);
    return true;
  }

  bool readIds(const Argument &argument, const Value &value) {
    auto *list = getIf<std::shared_ptr<List>>(value);
    if (!list || (*list)->element)
      return fail(argument.value->loc, "'" + argument.name + "' of text is a list of ids, such as [2]");
    llvm::SmallVector<mlir::Attribute> ids;
    for (const Value &element : (*list)->elements) {
      auto known = asId(element, argument.value->loc);
      if (!known)
        return false;
      ids.push_back(builder.getI64IntegerAttr(*known));
    }
    add(argument.name, builder.getArrayAttr(ids));
    return true;
  }

  std::optional<int64_t> asId(const Value &value, Loc loc) {
    auto known = e.asInt(value, loc, "an id of text");
    if (known && (*known < 0 || *known > INT32_MAX))
      return e.error(loc, fmt::format("{} is no token id", *known)), std::nullopt;
    return known;
  }
};

} // namespace

void xf::frontend::runText(Evaluator &evaluator, const Expr &call, const ScopePtr &scope) { Text(evaluator, call, scope).run(); }
