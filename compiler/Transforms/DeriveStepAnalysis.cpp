// How values of the decoder follow the target, to a fixed point over its loops; and what its logits need.
#include "compiler/Transforms/DeriveStep.h"
#include "dialect/IR/Producers.h"

namespace xf::step {

/// How many dimensions of `value` have that name.
static int64_t countDims(Value value, StringRef name) {
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  return tensor ? llvm::count(getDimNames(tensor), name) : 0;
}

Causality::Causality(Roles &roles) {
  target = roles.target;
  EntryOp decode = roles.decode;
  for (BlockArgument argument : decode.getBody().getArguments()) {
    bool tokens = argument.getArgNumber() == roles.tokens, grows = axis(argument).has_value();
    dependences[argument] = tokens ? Dependence::position : grows ? Dependence::whole : Dependence::sentence;
    if (dependences[argument] == Dependence::whole)
      reasons[argument] = {"argument '" + decode.getArgName(argument.getArgNumber()).str() +
                           "' is given for all target positions, but a search knows only the tokens"};
  }
  visit(decode.getBody().front());
}

Dependence Causality::get(Value value) const { return dependences.lookup_or(value, Dependence::fixed); }

Dependence Causality::whole(Operation *op, LookAhead reason) {
  for (Value result : op->getResults())
    reasons[result] = reason;
  return Dependence::whole;
}

const LookAhead *Causality::reason(Value value) const {
  auto found = reasons.find(value);
  return found == reasons.end() || get(value) != Dependence::whole ? nullptr : &found->second;
}

void Causality::visit(Block &block) {
  for (Operation &op : block.without_terminator()) {
    if (auto repeat = dyn_cast<RepeatOp>(op)) {
      visit(repeat);
      continue;
    }
    auto causal = dyn_cast<CausalOpInterface>(op);
    Dependence all = causal ? causal.getDependence(*this) : join(&op);
    if (!causal && isPerPosition(all))
      all = whole(&op, {"nothing says how '" + op.getName().getStringRef().str() + "' follows the target positions"});
    for (Value result : op.getResults()) {
      auto count = countDims(result, target);
      // A value that is repeated for all target positions is known at each of them.
      dependences[result] = count > 0 ? std::max(all, Dependence::position) : all;
      if (!isPerPosition(get(result)))
        continue;
      StringRef problem;
      if (count > 1)
        problem = "this value holds pairs of target positions outside of an attention";
      else if (count == 0)
        problem = "this value mixes all target positions";
      else
        continue;
      dependences[result] = Dependence::whole;
      reasons[result] = {problem.str()};
    }
  }
}

void Causality::visit(RepeatOp repeat) {
  auto yielded = repeat.getBody().front().getTerminator()->getOperands();
  for (auto [argument, init] : llvm::zip(repeat.getCarried(), repeat.getInits()))
    dependences[argument] = std::max(get(argument), get(init));
  for (bool changed = true; changed;) {
    visit(repeat.getBody().front());
    changed = false;
    for (auto [argument, value] : llvm::zip(repeat.getCarried(), yielded))
      if (get(value) > get(argument)) {
        dependences[argument] = get(value);
        changed = true;
      }
  }
  for (auto [result, value] : llvm::zip(repeat.getResults(), yielded))
    dependences[result] = get(value);
  for (auto [result, argument] : llvm::zip(repeat.getResults(), repeat.getCarried()))
    dependences[result] = get(argument);
}

bool BackwardSlice::has(Operation *op) const {
  return loops.contains(op) || llvm::any_of(op->getResults(), [&](Value v) { return has(v); });
}

void BackwardSlice::add(Value root) {
  demand(root, {});
  while (!worklist.empty())
    follow(worklist.pop_back_val());
}

void BackwardSlice::demand(Value value, Value user) {
  if (!values.insert(value))
    return;
  users[value] = user;
  worklist.push_back(value);
}

void BackwardSlice::follow(Value value) {
  if (causality && causality->get(value) == Dependence::sentence)
    return;
  for (Operation *op = value.getParentBlock()->getParentOp(); op; op = op->getParentOp())
    if (isa<RepeatOp>(op))
      loops.insert(op);
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto repeat = dyn_cast<RepeatOp>(argument.getOwner()->getParentOp());
    if (!repeat || argument == repeat.getLayer())
      return;
    unsigned k = argument.getArgNumber() - 1;
    demand(repeat.getInits()[k], value);
    demand(argument.getOwner()->getTerminator()->getOperand(k), value);
    return;
  }
  Operation *op = value.getDefiningOp();
  if (auto repeat = dyn_cast<RepeatOp>(op)) {
    unsigned k = cast<OpResult>(value).getResultNumber();
    demand(repeat.getBody().front().getTerminator()->getOperand(k), value);
    // A carried value stays carried, even if only its last one is used.
    if (k < repeat.getInits().size())
      demand(repeat.getCarried()[k], value);
    return;
  }
  for (Value read : valuesRead(op))
    demand(read, value);
}

SmallVector<Value> BackwardSlice::pathFrom(Value value) const {
  SmallVector<Value> path;
  while ((value = users.lookup(value)))
    path.push_back(value);
  return path;
}

} // namespace xf::step
