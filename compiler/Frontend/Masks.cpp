#include "compiler/Frontend/Masks.h"

#include "compiler/Frontend/Evaluator.h"

using namespace xf::frontend;

Value xf::frontend::asTerm(Messages &messages, const Value &value, bool isBias, Loc loc) {
  auto *closure = getIf<std::shared_ptr<Closure>>(value);
  if (!closure) {
    if (holds<std::shared_ptr<Term>>(value) || isPoison(value))
      return value;
    return messages.poison(loc, std::string(isBias ? "a bias" : "a mask") + " must be a function of positions or a tensor, not " + describe(value));
  }
  const Function *function = (*closure)->function;
  if (function && (function->kind == FunctionKind::Mask || function->kind == FunctionKind::Bias)) {
    std::string parameters;
    for (const Param &param : function->params)
      parameters += (parameters.empty() ? "" : ", ") + param.name;
    messages.error(loc, (*closure)->name() + " is given without its arguments: " + function->name + "(" + parameters + ") is wanted");
    messages.note(function->loc, (*closure)->name() + " is declared here");
    return Poison{};
  }
  auto term = std::make_shared<Term>();
  term->isBias = isBias;
  term->loc = (*closure)->lambda ? (*closure)->lambda->loc : (*closure)->function->loc;
  term->name = (*closure)->name();
  term->indices = &(*closure)->params();
  term->function = (*closure)->function;
  term->lambda = (*closure)->lambda;
  term->scope = (*closure)->scope;
  return term;
}

Value xf::frontend::joinMasks(Evaluator &e, Term::Kind kind, llvm::ArrayRef<Value> operands, Loc loc) {
  auto term = std::make_shared<Term>();
  term->kind = kind;
  term->loc = loc;
  for (const Value &operand : operands) {
    Value value = e.force(operand, loc);
    if (!holds<Tensor>(value))
      value = asTerm(e, value, /*isBias=*/false, loc);
    if (isPoison(value))
      return value;
    if (auto *inner = getIf<std::shared_ptr<Term>>(value))
      term->depth = std::max(term->depth, (*inner)->depth + 1);
    term->operands.push_back(value);
  }
  return term->depth > kMaxDepth ? e.poison(loc, "masks are joined too often") : Value(term);
}
