// Calls: arguments to parameters, functions, methods, blocks.
#include "compiler/Frontend/Evaluator.h"
#include "compiler/Frontend/Fold.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/SaveAndRestore.h"
#include <fmt/format.h>

using namespace xf::frontend;

ScopePtr Evaluator::selfScope(const InstanceRef &self) {
  auto scope = std::make_shared<Scope>();
  scope->self = self;
  scope->parent = self.instance->scope;
  return scope;
}

Value Evaluator::call(const Value &callee, Args args, Loc loc) {
  DepthGuard guard(*this);
  if (guard.tooDeep())
    return poison(loc, "calls are too deeply nested; does a function or block use itself?");
  calls.push_back({loc, /*isInside=*/false});
  llvm::scope_exit leave([&] { calls.pop_back(); });
  if (auto *builtin = getIf<const Builtin *>(callee))
    return callBuiltin(**builtin, args, loc);
  if (auto *closure = getIf<std::shared_ptr<Closure>>(callee))
    return callFunction((*closure)->function, (*closure)->lambda, (*closure)->scope, std::move(args), loc);
  if (auto *method = getIf<BoundMethod>(callee))
    return callFunction(method->method, nullptr, selfScope(method->self), std::move(args), loc);
  if (auto *block = getIf<BlockRef>(callee))
    return makeSpec(*block, std::move(args), loc);
  if (auto *self = getIf<InstanceRef>(callee)) {
    auto apply = self->instance->methods.find("apply");
    if (apply != self->instance->methods.end())
      return callFunction(apply->second, nullptr, selfScope(*self), std::move(args), loc);
    error(loc, "block '" + self->instance->block->name + "' has no method 'apply' to call");
    note(self->instance->block->loc, "'" + self->instance->block->name + "' is declared here");
    return Poison{};
  }
  if (auto *term = getIf<std::shared_ptr<Term>>(callee); term && (*term)->kind == Term::Leaf && (*term)->indices) {
    auto local = std::make_shared<Scope>();
    local->parent = (*term)->scope;
    if (!bindArguments(*(*term)->indices, args, local, (*term)->name, loc, (*term)->loc))
      return Poison{};
    calls.back().isInside = true;
    const Expr *body = (*term)->lambda ? (*term)->lambda->operands[0].get() : (*term)->function->expr.get();
    return body ? eval(*body, local) : Value(Poison{});
  }
  return poison(loc, describe(callee) + " cannot be called");
}

Value Evaluator::callFunction(const Function *function, const Expr *lambda, const ScopePtr &scope, Args args, Loc loc) {
  auto local = std::make_shared<Scope>();
  local->parent = scope;
  const std::vector<Param> &params = lambda ? lambda->params : function->params;
  std::string name = lambda ? "the function" : "'" + function->name + "'";
  if (!bindArguments(params, args, local, name, loc, lambda ? lambda->loc : function->loc))
    return Poison{};
  calls.back().isInside = true;
  if (lambda)
    return eval(*lambda->operands[0], local);
  switch (function->kind) {
  case FunctionKind::Mask:
  case FunctionKind::Bias: {
    auto term = std::make_shared<Term>();
    term->isBias = function->kind == FunctionKind::Bias;
    term->loc = function->loc;
    term->name = "'" + function->name + "'";
    term->indices = &function->indices;
    term->function = function;
    term->scope = local;
    scopes.push_back(local);
    return term;
  }
  case FunctionKind::Table: {
    auto table = std::make_shared<TableUse>();
    table->function = function;
    table->scope = local;
    scopes.push_back(local);
    table->key = fmt::format("{}:{}:{}", function->name, function->loc.file, function->loc.line);
    if (scope->self)
      table->key += fmt::format("@{}", static_cast<const void *>(scope->self->instance));
    for (const Param &param : params)
      table->key += "," + printValue(local->names[param.name].value);
    return table;
  }
  default:
    break;
  }
  if (function->expr)
    return eval(*function->expr, local);
  auto result = exec(function->body, local);
  if (!result) {
    error(loc, name + " does not return a value");
    note(function->loc, name + " is declared here");
    return Poison{};
  }
  return *result;
}

Value Evaluator::makeSpec(const BlockRef &block, Args args, Loc loc) {
  auto spec = std::make_shared<Spec>();
  spec->block = block.block;
  spec->scope = block.scope;
  spec->loc = loc;
  auto local = std::make_shared<Scope>();
  local->parent = block.scope;
  if (!bindArguments(block.block->params, args, local, "block '" + block.block->name + "'", loc, block.block->loc))
    return Poison{};
  for (const Param &param : block.block->params)
    spec->arguments.push_back({&param, local->names[param.name].value});
  return spec;
}

namespace {
/// A parameter as calls see it.
struct Formal {
  llvm::StringRef name;
  bool isRequired;
};
} // namespace

/// The argument of each parameter, by name or by position; null where none is given. Nothing after an error.
static std::optional<std::vector<const CallArg *>> matchArguments(llvm::ArrayRef<Formal> formals, const Args &args, const std::string &function,
                                                                  Loc loc, llvm::function_ref<void(Loc, const std::string &)> fail) {
  std::vector<const CallArg *> matched(formals.size());
  size_t next = 0;
  for (const CallArg &arg : args) {
    auto isNamed = [&](const Formal &formal) { return formal.name == arg.name; };
    size_t i = arg.name.empty() ? next++ : llvm::find_if(formals, isNamed) - formals.begin();
    if (i < formals.size() && !matched[i]) {
      matched[i] = &arg;
      continue;
    }
    fail(arg.loc, i < formals.size() ? "argument '" + formals[i].name.str() + "' is given twice"
                  : arg.name.empty() ? fmt::format("{} takes {} arguments, not {}", function, formals.size(), args.size())
                                     : function + " has no parameter '" + arg.name + "'");
    return std::nullopt;
  }
  for (auto [formal, arg] : llvm::zip(formals, matched))
    if (!arg && formal.isRequired)
      return fail(loc, fmt::format("argument '{}' of {} is missing", formal.name.str(), function)), std::nullopt;
  return matched;
}

Value Evaluator::callBuiltin(const Builtin &builtin, Args &args, Loc loc) {
  if (builtin.required.empty())
    return builtin.run(*this, args, loc);
  std::vector<Formal> formals;
  for (llvm::StringRef name : builtin.required)
    formals.push_back({name, true});
  for (llvm::StringRef name : builtin.optional)
    formals.push_back({name, false});
  auto matched = matchArguments(formals, args, builtin.name.str(), loc, [&](Loc where, const std::string &message) { error(where, message); });
  if (!matched)
    return Poison{};
  Args ordered;
  for (auto [formal, arg] : llvm::zip(formals, *matched))
    ordered.push_back({arg ? arg->loc : loc, formal.name.str(), arg ? arg->value : Value(None{})});
  return builtin.run(*this, ordered, loc);
}

bool Evaluator::bindArguments(const std::vector<Param> &params, Args &args, const ScopePtr &local, const std::string &name, Loc loc, Loc declared) {
  auto formals = llvm::map_to_vector(params, [](const Param &param) { return Formal{param.name, !param.value}; });
  auto matched = matchArguments(formals, args, name, loc, [&](Loc where, const std::string &message) {
    error(where, message);
    note(declared, name + " is declared here");
  });
  if (!matched)
    return false;
  bool good = true;
  for (auto [param, arg] : llvm::zip(params, *matched)) {
    Value value = arg ? arg->value : eval(*param.value, local);
    Loc where = arg ? arg->loc : loc;
    if (isPoison(value) || !bindParam(param, value, local, where)) {
      good = false;
      value = Poison{};
    }
    local->set(param.name, std::move(value), where);
  }
  return good;
}

static bool refuse(Evaluator &e, const Param &param, const Value &value, Loc loc, const std::string &expected) {
  std::string what = "'" + param.name + "'";
  e.error(loc, what + " must be " + expected + ", not " + describe(value));
  e.note(param.loc, what + " is declared here");
  return false;
}

/// Binds a parameter that is declared as a tensor, whose shape may bind the names of dimensions.
static bool bindTensor(Evaluator &e, const Param &param, Value &value, const ScopePtr &local, Loc loc) {
  const TypeExpr &type = *param.type;
  mlir::Type element = e.elementType(type, false);
  if (!element)
    return false;
  if (auto *lazy = getIf<LazyInput *>(value))
    return e.entries.bindLazy(**lazy, type, local, loc) && (value = *(*lazy)->value, true);
  if (holds<None>(value) && param.value)
    return true;
  value = e.force(value, loc);
  if (isPoison(value))
    return false;
  auto *tensor = getIf<Tensor>(value);
  if (!tensor)
    return refuse(e, param, value, loc, "a tensor");
  if (tensor->type().getElementType() != element)
    return refuse(e, param, value, loc,
                  element.isF32()        ? "a tensor of numbers (f32)"
                  : element.isInteger(1) ? "a boolean tensor"
                                         : "a tensor of tokens");
  if (e.bindShape(type, tensor->type(), local, "'" + param.name + "'", loc))
    return true;
  e.note(type.loc, "its type is declared here");
  e.noteValue(tensor->value, "the shape");
  return false;
}

/// Checks that a value is one of those that its parameter may have.
static bool checkChoice(Evaluator &e, const Param &param, const Value &value, const ScopePtr &local, Loc loc) {
  Value choices = e.eval(*param.choices, local);
  if (isPoison(choices))
    return false;
  auto *list = getIf<std::shared_ptr<List>>(choices);
  if (!list || (*list)->elements.empty())
    return e.error(param.choices->loc, "'in' needs a list of values, not " + describe(choices)), false;
  std::string expected;
  for (const Value &choice : (*list)->elements) {
    bool failed = false;
    auto equal = fold(e, "==", value, choice, loc, failed);
    if (equal && std::get<bool>(*equal))
      return true;
    auto *text = getIf<std::string>(choice);
    expected += (expected.empty() ? "" : &choice == &(*list)->elements.back() ? " or " : ", ") + (text ? '"' + *text + '"' : describe(choice));
  }
  return refuse(e, param, value, loc, expected);
}

/// Checks a value against its parameter's choices and type, binding the type's new dimensions.
bool Evaluator::bindParam(const Param &param, Value &value, const ScopePtr &local, Loc loc) {
  if (param.choices && !checkChoice(*this, param, value, local, loc))
    return false;
  if (!param.type)
    return true;
  const TypeExpr &type = *param.type;
  if (type.hasShape)
    return bindTensor(*this, param, value, local, loc);
  auto wrong = [&](const std::string &expected) { return refuse(*this, param, value, loc, expected); };
  if (type.name == "int")
    return holds<int64_t>(value) || wrong(holds<double>(value) ? "an integer (divisions must be exact)" : "an integer");
  if (type.name == "float") {
    if (auto *i = getIf<int64_t>(value))
      value = static_cast<double>(*i);
    return holds<double>(value) || wrong("a number");
  }
  if (type.name == "bool")
    return holds<bool>(value) || wrong("true or false");
  if (type.name == "string")
    return holds<std::string>(value) || wrong("a string");
  if (type.name == "function")
    return holds<std::shared_ptr<Closure>>(value) || holds<const Builtin *>(value) || holds<BoundMethod>(value) || holds<InstanceRef>(value) ||
           wrong("a function");
  if (type.name == "block")
    return holds<BlockRef>(value) || holds<std::shared_ptr<Spec>>(value) || holds<InstanceRef>(value) || holds<std::shared_ptr<Closure>>(value) ||
           wrong("a block");
  if (type.name == "list")
    return holds<std::shared_ptr<List>>(value) || wrong("a list");
  error(type.loc, "'" + type.name + "' is not a type (int, float, bool, string, function, block, list, or f32[..], token[..], bool[..])");
  return false;
}
