// The model's parameters: from --set, from --config, or from their defaults.
#include "compiler/Frontend/Evaluator.h"

#include "llvm/ADT/StringExtras.h"
#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace xf::frontend;

namespace {
/// Text as a value: a number, a boolean, else a string.
Value parseText(llvm::StringRef text) {
  int64_t integer = 0;
  double number = 0;
  if (text == "true" || text == "false")
    return text == "true";
  if (text == "none")
    return None{};
  if (!text.getAsInteger(10, integer))
    return integer;
  if (!text.getAsDouble(number))
    return number;
  return text.str();
}
} // namespace

/// A string names a function or block where the parameter wants one.
std::optional<Value> Evaluator::optionValue(const Param &param, llvm::StringRef text, const ScopePtr &scope, Loc loc) {
  auto found = lookup(scope.get(), text);
  if (!found) {
    error({}, "'" + text.str() + "', given for '" + param.name + "', is not defined");
    note(param.loc, "'" + param.name + "' is declared here");
    return std::nullopt;
  }
  return autoApply(found->value, loc);
}

bool Evaluator::bindOptions(const Block &block, const ScopePtr &scope, Spec &spec) {
  spec.block = &block;
  spec.scope = scope;
  spec.loc = block.loc;
  std::map<std::string, Value> given;
  std::map<std::string, std::string> origin;
  auto declared = [&](llvm::StringRef name) { return llvm::any_of(block.params, [&](const Param &p) { return p.name == name; }); };
  bool good = true;
  if (!options.configJson.empty()) {
    auto json = nlohmann::json::parse(options.configJson, nullptr, false);
    if (json.is_object() && json.contains("config") && json["config"].is_object())
      json = json["config"];
    // Where training frameworks keep them; what stands beside it counts first.
    if (json.is_object() && json.contains("hyper_parameters") && json["hyper_parameters"].is_object()) {
      auto own = json["hyper_parameters"];
      json.erase("hyper_parameters");
      for (auto &[key, value] : own.items())
        json.emplace(key, value);
    }
    if (!json.is_object()) {
      error({}, options.configName + ": is no JSON object");
      return false;
    }
    for (auto &[key, value] : json.items()) {
      if (!declared(key)) {
        if (options.verbose)
          verboseNotes.push_back(options.configName + ": '" + key + "' is no parameter of '" + block.name + "'");
        continue;
      }
      origin[key] = options.configName;
      if (value.is_boolean())
        given[key] = value.get<bool>();
      else if (value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX)
        good = (error({}, options.configName + ": '" + key + "' is too large"), false);
      else if (value.is_number_integer())
        given[key] = value.get<int64_t>();
      else if (value.is_number())
        given[key] = value.get<double>();
      else if (value.is_string())
        given[key] = value.get<std::string>();
      else if (value.is_null())
        given[key] = None{};
      else
        good = (error({}, options.configName + ": '" + key + "' must be a number, a boolean or a string"), false);
    }
  }
  for (auto &[name, text] : options.set) {
    if (!declared(name)) {
      error({}, "--set " + name + ": '" + block.name + "' has no parameter '" + name + "'");
      note(block.loc, "'" + block.name + "' is declared here");
      good = false;
    }
    origin[name] = "--set";
    auto param = llvm::find_if(block.params, [&](const Param &p) { return p.name == name; });
    bool isString = param != block.params.end() && param->type && param->type->name == "string";
    given[name] = isString ? Value(text) : parseText(text);
  }
  auto local = std::make_shared<Scope>();
  local->parent = scope;
  for (const Param &param : block.params) {
    Value value;
    auto it = given.find(param.name);
    if (it != given.end()) {
      value = it->second;
      if (auto *text = getIf<std::string>(value)) {
        std::string wanted = param.type ? param.type->name : "";
        bool callable = wanted == "function" || wanted == "block";
        if (!param.type && param.value) {
          Value usual = eval(*param.value, local);
          callable = holds<std::shared_ptr<Closure>>(usual) || holds<const Builtin *>(usual) || holds<BlockRef>(usual);
        }
        if (callable) {
          auto found = optionValue(param, *text, local, param.loc);
          good &= found.has_value();
          value = found ? *found : Value(Poison{});
        }
      }
    } else if (param.value) {
      value = eval(*param.value, local);
    } else {
      error(param.loc, "parameter '" + param.name + "' of '" + block.name + "' has no value; give it with --set " + param.name + "=… or --config");
      good = false;
      value = Poison{};
    }
    if (!isPoison(value))
      if (!bindParam(param, value, local, param.loc)) {
        if (it != given.end())
          diagnostics.note({}, "the value comes from " + origin[param.name]);
        value = Poison{};
      }
    good &= !isPoison(value);
    local->set(param.name, value, param.loc);
    spec.arguments.push_back({&param, value});
  }
  return good;
}
