// Statements.
#include "compiler/Frontend/Evaluator.h"

#include <fmt/format.h>

using namespace xf::frontend;

std::optional<Value> Evaluator::exec(const std::vector<Stmt> &body, const ScopePtr &scope) {
  for (const Stmt &stmt : body) {
    if (diagnostics.reachedErrorLimit())
      return Poison{};
    switch (stmt.kind) {
    case StmtKind::Assign:
      assign(stmt.targets, eval(*stmt.value, scope), scope, stmt.loc);
      break;
    case StmtKind::Return:
      return eval(*stmt.value, scope);
    case StmtKind::If: {
      auto condition = asBool(eval(*stmt.value, scope), stmt.value->loc, "the condition");
      if (!condition) {
        if (auto result = poisonAssigned(stmt, scope))
          return result;
        break;
      }
      if (auto result = exec(*condition ? stmt.body : stmt.otherwise, scope))
        return result;
      break;
    }
    case StmtKind::For:
      if (auto result = execFor(stmt, scope))
        return result;
      break;
    case StmtKind::State:
    case StmtKind::Yield:
      error(stmt.loc, stmt.kind == StmtKind::State ? "'state' stands in a scan only" : "'yield' stands in a scan only");
      break;
    }
  }
  return std::nullopt;
}

/// After an error in the head of a statement: poisons what its body would set, and the result if it would return one.
std::optional<Value> Evaluator::poisonAssigned(const Stmt &stmt, const ScopePtr &scope) {
  std::vector<Target> assigned;
  bool returns = false;
  for (const std::vector<Stmt> *body : {&stmt.body, &stmt.otherwise}) {
    collectAssigned(*body, assigned);
    returns |= llvm::any_of(*body, [](const Stmt &each) { return each.kind == StmtKind::Return; });
  }
  for (const Target &target : assigned)
    scope->set(target.name, Poison{}, target.loc);
  return returns ? std::optional<Value>(Poison{}) : std::nullopt;
}

void Evaluator::assign(const std::vector<Target> &targets, Value value, const ScopePtr &scope, Loc loc) {
  if (targets.size() == 1 || isPoison(value)) {
    for (const Target &target : targets)
      scope->set(target.name, value, target.loc);
    return;
  }
  std::vector<Value> elements;
  value = force(value, loc);
  if (auto *tuple = getIf<std::shared_ptr<Tuple>>(value)) {
    elements = (*tuple)->elements;
  } else if (auto *list = getIf<std::shared_ptr<List>>(value)) {
    for (int64_t i = 0; i < (*list)->size() && i <= static_cast<int64_t>(targets.size()); ++i)
      elements.push_back(elementAt(**list, i));
  } else if (auto *tensor = getIf<Tensor>(value); tensor && targets.size() == 2) {
    // `x, p = attend(…)`: a second name gets the probabilities.
    if (auto both = probabilities.of(tensor->value, builder))
      elements = {Tensor{both->first}, Tensor{both->second}};
  }
  if (elements.size() != targets.size()) {
    error(loc, fmt::format("{} names for {}", targets.size(), describe(value)));
    elements.assign(targets.size(), Poison{});
  }
  for (auto [target, element] : llvm::zip(targets, elements))
    scope->set(target.name, element, target.loc);
}
