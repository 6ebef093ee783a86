// Expressions: names, literals, members, lists, conditionals.
#include "compiler/Frontend/Evaluator.h"

#include "llvm/Support/SaveAndRestore.h"
#include <fmt/format.h>

using namespace xf::frontend;

namespace {
constexpr uint64_t kMaxSteps = 1'000'000;
constexpr int64_t kMaxElements = 10'000;
} // namespace

std::optional<Binding> Evaluator::lookup(const Scope *scope, llvm::StringRef name) {
  for (; scope; scope = scope->parent.get()) {
    if (auto it = scope->names.find(name); it != scope->names.end())
      return it->second;
    if (!scope->self)
      continue;
    Instance &instance = *scope->self->instance;
    if (auto it = instance.members.find(name); it != instance.members.end()) {
      Binding binding = it->second;
      if (binding.needsRebase)
        binding.value = rebase(binding.value, scope->self->indices);
      return binding;
    }
    if (auto it = instance.methods.find(name); it != instance.methods.end())
      return Binding{BoundMethod{*scope->self, it->second}, it->second->loc};
    if (auto it = instance.params.find(name); it != instance.params.end())
      return it->second;
  }
  if (name == "true" || name == "false")
    return Binding{name == "true", {}};
  if (name == "none")
    return Binding{None{}, {}};
  if (name == "inf")
    return Binding{std::numeric_limits<double>::infinity(), {}};
  if (const Builtin *builtin = findBuiltin(name))
    return Binding{builtin, {}};
  return std::nullopt;
}

/// Calls masks, biases and tables without parameters, which are written without parentheses: `causal`.
Value Evaluator::autoApply(const Value &value, Loc loc) {
  const Function *function = nullptr;
  if (auto *closure = getIf<std::shared_ptr<Closure>>(value))
    function = (*closure)->function;
  else if (auto *method = getIf<BoundMethod>(value))
    function = method->method;
  bool applies = function && function->params.empty() &&
                 (function->kind == FunctionKind::Mask || function->kind == FunctionKind::Bias || function->kind == FunctionKind::Table);
  return applies ? call(value, {}, loc) : value;
}

Value Evaluator::eval(const Expr &expr, const ScopePtr &scope) {
  DepthGuard guard(*this);
  if (guard.tooDeep())
    return poison(expr.loc, "calls are too deeply nested; does a function or block use itself?");
  return countSteps(expr.loc) ? evalUncounted(expr, scope) : Value(Poison{});
}

/// False once the evaluation has taken too many steps: a few lines can ask for years.
bool Evaluator::countSteps(Loc loc, uint64_t count) {
  bool isNew = steps < kMaxSteps;
  steps += count;
  if (isNew && steps >= kMaxSteps)
    error(loc, "the description takes too long to evaluate");
  return steps < kMaxSteps;
}

Value Evaluator::evalUncounted(const Expr &expr, const ScopePtr &scope) {
  switch (expr.kind) {
  case ExprKind::Integer:
    return expr.integer;
  case ExprKind::Float:
    return expr.real;
  case ExprKind::String:
    return expr.text;
  case ExprKind::Name: {
    auto found = lookup(scope.get(), expr.text);
    if (!found)
      return poison(expr.loc, "'" + expr.text + "' is not defined");
    return autoApply(found->value, expr.loc);
  }
  case ExprKind::Unary:
    return unary(expr.text, eval(*expr.operands[0], scope), expr.loc);
  case ExprKind::Binary:
    return evalBinary(expr, scope);
  case ExprKind::Member:
    return evalMember(expr, scope);
  case ExprKind::Call: {
    Value callee = eval(*expr.operands[0], scope);
    Args args;
    bool bad = isPoison(callee);
    for (const Argument &argument : expr.arguments) {
      args.push_back({argument.value->loc, argument.name, eval(*argument.value, scope)});
      bad |= isPoison(args.back().value);
    }
    return bad ? Value(Poison{}) : call(callee, std::move(args), expr.loc);
  }
  case ExprKind::Index:
    return index(expr, scope);
  case ExprKind::Slice:
  case ExprKind::Ellipsis:
    return poison(expr.loc, "a range stands in an index only");
  case ExprKind::List:
    return evalList(expr, scope);
  case ExprKind::Tuple: {
    auto tuple = std::make_shared<Tuple>();
    for (auto &operand : expr.operands)
      tuple->elements.push_back(eval(*operand, scope));
    return tuple;
  }
  case ExprKind::If:
    return evalIf(expr, scope);
  case ExprKind::Lambda: {
    auto closure = std::make_shared<Closure>();
    closure->lambda = &expr;
    closure->scope = scope;
    scopes.push_back(scope);
    return closure;
  }
  case ExprKind::Scan:
    return scan(*this, expr, scope);
  }
  return Poison{};
}

Value Evaluator::evalBinary(const Expr &expr, const ScopePtr &scope) {
  Value left = eval(*expr.operands[0], scope), right = eval(*expr.operands[1], scope);
  if (isPoison(left) || isPoison(right))
    return Poison{};
  if (expr.text == "@") {
    mlir::Value x = asTensor(left, expr.loc, "the left side of '@'"), weight = asTensor(right, expr.loc, "the right side of '@'");
    return x && weight ? tensors.product(x, weight, expr.loc) : Value(Poison{});
  }
  return binary(expr.text, left, right, expr.loc);
}

Value Evaluator::evalMember(const Expr &expr, const ScopePtr &scope) {
  Value object = force(eval(*expr.operands[0], scope), expr.loc);
  if (isPoison(object))
    return object;
  if (auto *self = getIf<InstanceRef>(object)) {
    Scope inside;
    inside.self = *self;
    auto found = lookup(&inside, expr.text);
    if (found && found->loc.isValid())
      return autoApply(found->value, expr.loc);
    error(expr.loc, "block '" + self->instance->block->name + "' has no member '" + expr.text + "'");
    note(self->instance->block->loc, "'" + self->instance->block->name + "' is declared here");
    return Poison{};
  }
  if (expr.text == "T") {
    mlir::Value x = asTensor(object, expr.loc, "the value before '.T'");
    return x ? tensors.transpose(x, expr.loc) : Value(Poison{});
  }
  return poison(expr.loc, describe(object) + " has no member '" + expr.text + "'");
}

Value Evaluator::evalIf(const Expr &expr, const ScopePtr &scope) {
  Value condition = eval(*expr.operands[0], scope);
  if (auto *scalar = getIf<Scalar>(condition)) {
    Value trueValue = eval(*expr.operands[1], scope), falseValue = eval(*expr.operands[2], scope);
    if (isPoison(trueValue) || isPoison(falseValue))
      return Poison{};
    auto a = operandOf(trueValue), b = operandOf(falseValue);
    if (!a || !b)
      return poison(expr.loc, "both branches must be elements, not " + describe(a ? falseValue : trueValue));
    mlir::Value result = scalars.select(scalar->value, *a, *b, expr.loc);
    return result ? Value(Scalar{result, {}}) : Value(Poison{});
  }
  auto isTrue = asBool(condition, expr.operands[0]->loc, "the condition");
  return isTrue ? eval(*expr.operands[*isTrue ? 1 : 2], scope) : Value(Poison{});
}

Value Evaluator::evalList(const Expr &expr, const ScopePtr &scope) {
  auto list = std::make_shared<List>();
  for (auto &operand : expr.operands) {
    // `[Block(d) * n]` and `[member * n]`
    bool times = operand->kind == ExprKind::Binary && operand->text == "*";
    Value value = times ? eval(*operand->operands[0], scope) : eval(*operand, scope);
    bool block = holds<std::shared_ptr<Spec>>(value) || holds<InstanceRef>(value);
    if (times && !block) {
      Value right = eval(*operand->operands[1], scope);
      value = isPoison(value) || isPoison(right) ? Value(Poison{}) : binary("*", value, right, operand->loc);
    }
    if (isPoison(value))
      return Poison{};
    if (auto *inner = getIf<std::shared_ptr<List>>(value))
      list->depth = std::max(list->depth, (*inner)->depth + 1);
    if (list->depth > kMaxDepth)
      return poison(operand->loc, "lists are too deeply nested");
    if (!times || !block) {
      list->elements.push_back(value);
      continue;
    }
    auto count = asInt(eval(*operand->operands[1], scope), operand->operands[1]->loc, "the number of elements");
    if (!count)
      return Poison{};
    if (*count < 0 || *count > 10 * kMaxElements)
      return poison(operand->operands[1]->loc, fmt::format("a list cannot have {} elements", *count));
    if (expr.operands.size() == 1) {
      list->element = value;
      list->count = *count;
      list->indexed = holds<std::shared_ptr<Spec>>(value);
      return list;
    }
    if (*count + list->elements.size() > kMaxElements)
      return poison(expr.loc, "the list has too many elements");
    if (!countSteps(expr.loc, *count))
      return Poison{};
    list->elements.insert(list->elements.end(), *count, value);
  }
  return list;
}
