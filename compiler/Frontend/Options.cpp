// The model's parameters: from --set, from --config, or from their defaults.
#include "compiler/Frontend/Evaluator.h"
#include "compiler/Support/ParseJson.h"

#include "llvm/ADT/StringExtras.h"
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace xf::frontend;

namespace {
/// Text as a value: a number, a boolean, else a string.
Value parseText(llvm::StringRef text) {
  int64_t integer = 0;
  double real = 0;
  if (text == "true" || text == "false")
    return text == "true";
  if (text == "none")
    return None{};
  if (!text.getAsInteger(10, integer))
    return integer;
  if (!text.getAsDouble(real))
    return real;
  return text.str();
}

/// What Python writes in JSON for numbers that are not finite.
constexpr std::pair<llvm::StringLiteral, double> nonFinite[] = {{"NaN", NAN}, {"Infinity", INFINITY}, {"-Infinity", -INFINITY}};

/// The string that replaces such a literal while JSON is parsed: of the same length, so that errors name the right positions, and found in no
/// configuration.
std::string placeholder(llvm::StringRef literal) { return std::string(literal.size() - 2, '\x7f'); }

/// Reads JSON as Python writes it.
llvm::Expected<nlohmann::json> parseConfig(std::string text) {
  bool inString = false;
  for (size_t pos = 0; pos < text.size(); ++pos) {
    if (inString && text[pos] == '\\')
      ++pos;
    else if (text[pos] == '"')
      inString = !inString;
    else if (!inString)
      for (auto [literal, value] : nonFinite)
        if (llvm::StringRef(text).drop_front(pos).starts_with(literal)) {
          text.replace(pos, literal.size(), '"' + placeholder(literal) + '"');
          pos += literal.size() - 1;
        }
  }
  return xf::parseJson(text);
}

/// "'a' or 'b'".
std::string alternatives(llvm::ArrayRef<std::string> paths) {
  std::string text;
  for (const std::string &path : paths)
    text += (text.empty() ? "'" : " or '") + path + "'";
  return text;
}

struct GivenOption {
  Value value;
  std::string origin; // for messages
  bool isNull = false; // null in JSON: none, or no value at all where the parameter has a type
};

/// What --config and --set say of the parameters of a block; --set takes precedence.
class GivenOptions {
public:
  GivenOptions(Evaluator &e, const Block &block) : e(e), block(block) {}

  /// False if the text is no object at all.
  bool readConfig() {
    auto parsed = parseConfig(e.options.configJson);
    if (!parsed)
      return fail(e.options.configName + ": is no JSON object: " + llvm::toString(parsed.takeError()));
    nlohmann::json &json = *parsed;
    unwrap(json);
    if (!json.is_object())
      return fail(e.options.configName + ": is no JSON object");
    for (const Param &param : block.params)
      readParam(param, json);
    for (auto &[key, value] : json.items()) {
      if (value.is_object() && !findParam(key))
        noteNested(key, value);
      if (e.options.verbose)
        noteUnread(key, value);
    }
    return true;
  }

  /// " (it has d, heads)".
  std::string parameters() const {
    std::string names;
    for (const Param &param : block.params)
      names += (names.empty() ? " (it has " : ", ") + param.name;
    return names.empty() ? names : names + ")";
  }

  void readSet() {
    for (auto &[name, text] : e.options.set) {
      const Param *param = findParam(name);
      if (!param) {
        fail("--set " + name + ": '" + block.name + "' has no parameter '" + name + "'" + parameters());
        e.note(block.loc, "'" + block.name + "' is declared here");
        continue;
      }
      if (param->type && param->type->name == "list" && llvm::StringRef(text).starts_with("[")) {
        auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
        if (!json.is_array())
          fail("--set " + name + "=" + text + ": is no JSON list");
        else if (auto list = valueOf("--set " + name, json, /*mayBeList=*/true))
          given[name] = {*list, "--set"};
        continue;
      }
      bool isString = param->type && param->type->name == "string";
      given[name] = {isString ? Value(text) : parseText(text), "--set"};
    }
  }

  bool isGood() const { return good; }

  const GivenOption *find(const std::string &name) const {
    auto it = given.find(name);
    return it == given.end() ? nullptr : &it->second;
  }

private:
  bool fail(const std::string &message) {
    e.error({}, message);
    return good = false;
  }

  const Param *findParam(llvm::StringRef name) const {
    auto it = llvm::find_if(block.params, [&](const Param &param) { return param.name == name; });
    return it == block.params.end() ? nullptr : &*it;
  }

  static llvm::ArrayRef<std::string> pathsOf(const Param &param) {
    return param.configPaths.empty() ? llvm::ArrayRef(param.name) : llvm::ArrayRef(param.configPaths);
  }

  void readParam(const Param &param, const nlohmann::json &json) {
    llvm::ArrayRef<std::string> paths = pathsOf(param);
    for (const std::string &path : paths)
      if (const nlohmann::json *value = at(json, path))
        return readMember(param, path, *value);
    bool isDefault = llvm::any_of(paths, [&](const std::string &path) { return isInNull(json, path); });
    if (!param.configPaths.empty() && param.value && !isSet(param.name) && !isDefault)
      e.verboseNotes.push_back(fmt::format("{}: there is no {}: '{}' has its default", e.options.configName, alternatives(paths), param.name));
  }

  /// The member of that name, or, for a name with dots, a member of a member; null if there is none.
  static const nlohmann::json *at(const nlohmann::json &json, llvm::StringRef path) {
    auto member = [](const nlohmann::json &object, llvm::StringRef name) -> const nlohmann::json * {
      auto found = object.is_object() ? object.find(name.str()) : object.end();
      return found == object.end() ? nullptr : &*found;
    };
    if (const nlohmann::json *whole = member(json, path))
      return whole;
    auto [first, rest] = path.split('.');
    const nlohmann::json *inner = rest.empty() ? nullptr : member(json, first);
    return inner ? at(*inner, rest) : nullptr;
  }

  /// Whether an object that the path leads through is null: then its members have their defaults, as the configuration says.
  static bool isInNull(const nlohmann::json &json, llvm::StringRef path) {
    for (size_t dot = path.find('.'); dot != llvm::StringRef::npos; dot = path.find('.', dot + 1))
      if (const nlohmann::json *object = at(json, path.take_front(dot)); object && object->is_null())
        return true;
    return false;
  }

  /// Notes a member of the configuration that is no parameter; for an object with members that are parameters, its others.
  void noteUnread(const std::string &path, const nlohmann::json &value) {
    bool isPart = false;
    for (const Param &param : block.params)
      for (llvm::StringRef read : pathsOf(param)) {
        if (read == path)
          return;
        isPart |= read.consume_front(path) && read.starts_with(".");
      }
    if (isPart && value.is_object()) {
      for (auto &[key, member] : value.items())
        noteUnread(path + "." + key, member);
      return;
    }
    const Param *elsewhere = findParam(path);
    e.verboseNotes.push_back(e.options.configName + ": '" + path + "' " +
                             (elsewhere ? "is not read: '" + path + "' of '" + block.name + "' is " + alternatives(pathsOf(*elsewhere)) + " there"
                                        : "is no parameter of '" + block.name + "'"));
  }

  /// Goes to the object in which training frameworks keep the parameters.
  static void unwrap(nlohmann::json &json) {
    if (json.is_object() && json.contains("config") && json["config"].is_object())
      json = json["config"];
    if (!json.is_object() || !json.contains("hyper_parameters") || !json["hyper_parameters"].is_object())
      return;
    auto members = json["hyper_parameters"];
    json.erase("hyper_parameters");
    for (auto &[key, value] : members.items())
      json.emplace(key, value); // what stands beside them takes precedence
  }

  /// Values that only an object inside the configuration has are not taken, as they may belong to something else. But they are noted, as
  /// otherwise a default would silently replace the model's value.
  void noteNested(const std::string &outer, const nlohmann::json &object) {
    for (auto &[key, value] : object.items())
      if (const Param *param = findParam(key);
          param && param->configPaths.empty() && !given.contains(key) && value.is_primitive() && !value.is_null() && !isSet(key))
        e.verboseNotes.push_back(
            fmt::format("{}: '{}' stands in '{}', and is not taken from there; --set {}={} gives it, or 'as \"{}.{}\"' behind the parameter",
                        e.options.configName, key, outer, key, value.is_string() ? value.get<std::string>() : value.dump(), outer, key));
  }

  bool isSet(const std::string &name) const {
    return llvm::any_of(e.options.set, [&](const auto &pair) { return pair.first == name; });
  }

  void readMember(const Param &param, const std::string &path, const nlohmann::json &value) {
    bool mayBeList = param.type && param.type->name == "list";
    auto read = valueOf(e.options.configName + ": '" + path + "'", value, mayBeList);
    if (!read)
      return;
    GivenOption option{*read, param.configPaths.empty() ? e.options.configName : "'" + path + "' of " + e.options.configName};
    option.isNull = value.is_null();
    given[param.name] = option;
  }

  std::optional<Value> valueOf(const std::string &member, const nlohmann::json &json, bool mayBeList) {
    if (json.is_boolean())
      return Value(json.get<bool>());
    if (json.is_number_unsigned() && json.get<uint64_t>() > INT64_MAX)
      return fail(member + " is too large"), std::nullopt;
    if (json.is_number_integer())
      return Value(json.get<int64_t>());
    if (json.is_number())
      return Value(json.get<double>());
    for (auto [literal, value] : nonFinite)
      if (json == placeholder(literal))
        return Value(value);
    if (json.is_string())
      return Value(json.get<std::string>());
    if (json.is_null())
      return Value(None{});
    if (!json.is_array() || !mayBeList)
      return fail(member + " must be a number, a boolean or a string"), std::nullopt;
    auto list = std::make_shared<List>();
    for (const nlohmann::json &element : json) {
      auto value = valueOf("an element of " + member, element, /*mayBeList=*/false);
      if (!value)
        return std::nullopt;
      list->elements.push_back(std::move(*value));
    }
    return Value(list);
  }

  Evaluator &e;
  const Block &block;
  std::map<std::string, GivenOption> given;
  bool good = true;
};

/// Whether a parameter wants a function or a block: its type says so, or else its default.
bool wantsCallable(Evaluator &e, const Param &param, const ScopePtr &scope) {
  if (param.type || !param.value)
    return param.type && (param.type->name == "function" || param.type->name == "block");
  Value defaultValue = e.eval(*param.value, scope);
  return holds<std::shared_ptr<Closure>>(defaultValue) || holds<const Builtin *>(defaultValue) || holds<BlockRef>(defaultValue);
}

/// The value for a parameter; where it wants a function or block, a string names one.
Value givenValue(Evaluator &e, const Param &param, const Value &value, const ScopePtr &scope) {
  auto *text = getIf<std::string>(value);
  if (!text || !wantsCallable(e, param, scope))
    return value;
  if (auto found = e.lookup(scope.get(), *text))
    return e.autoApply(found->value, param.loc);
  e.error({}, "'" + *text + "', given for '" + param.name + "', is not defined");
  e.note(param.loc, "'" + param.name + "' is declared here");
  return Poison{};
}

/// The value with the parameter's type: configurations also write whole numbers as 8.0, and a list of one element as that element.
Value asDeclared(Evaluator &e, const Param &param, const Value &value, const ScopePtr &scope) {
  if (param.type && param.type->name == "list" && !holds<std::shared_ptr<List>>(value)) {
    auto list = std::make_shared<List>();
    list->elements.push_back(value);
    return list;
  }
  auto *real = getIf<double>(value);
  if (!real || *real != std::trunc(*real) || std::abs(*real) > 0x1p53)
    return value;
  bool isInteger = param.type ? param.type->name == "int" : param.value && holds<int64_t>(e.eval(*param.value, scope));
  return isInteger ? Value(static_cast<int64_t>(*real)) : value;
}

Value missingValue(Evaluator &e, const Param &param, const Block &block) {
  return e.poison(param.loc, "parameter '" + param.name + "' of '" + block.name + "' has no value; give it with --set " + param.name +
                                 "=… or --config" + (param.configPaths.empty() ? "" : ", where it is " + alternatives(param.configPaths)));
}
} // namespace

bool Evaluator::bindOptions(const Block &block, const ScopePtr &scope, Spec &spec) {
  spec.block = &block;
  spec.scope = scope;
  GivenOptions given(*this, block);
  if (!options.configName.empty() && !given.readConfig())
    return false;
  given.readSet();
  bool good = given.isGood();
  auto local = std::make_shared<Scope>();
  local->parent = scope;
  for (const Param &param : block.params) {
    const GivenOption *option = given.find(param.name);
    if (option && option->isNull && param.type)
      option = nullptr;
    Value value = option        ? asDeclared(*this, param, givenValue(*this, param, option->value, local), local)
                  : param.value ? eval(*param.value, local)
                                : missingValue(*this, param, block);
    if (!isPoison(value) && !bindParam(param, value, local, param.loc)) {
      if (option)
        diagnostics.note({}, "the value comes from " + option->origin);
      value = Poison{};
    }
    good &= !isPoison(value);
    local->set(param.name, value, param.loc);
    spec.arguments.push_back({&param, value});
  }
  return good;
}
