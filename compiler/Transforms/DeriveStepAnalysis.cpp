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
    along[argument] = tokens ? Along::position : grows ? Along::whole : Along::sentence;
    if (along[argument] == Along::whole)
      reasons[argument] = {"argument '" + decode.getArgName(argument.getArgNumber()).str() +
                           "' is given for all target positions, but a search knows only the tokens"};
  }
  visit(decode.getBody().front());
}

Along Causality::get(Value value) const { return along.lookup_or(value, Along::fixed); }

Along Causality::whole(Operation *op, LookAhead reason) {
  for (Value result : op->getResults())
    reasons[result] = reason;
  return Along::whole;
}

const LookAhead *Causality::reason(Value value) const {
  auto found = reasons.find(value);
  return found == reasons.end() || get(value) != Along::whole ? nullptr : &found->second;
}

void Causality::visit(Block &block) {
  for (Operation &op : block.without_terminator()) {
    if (auto repeat = dyn_cast<RepeatOp>(op)) {
      visit(repeat);
      continue;
    }
    auto causal = dyn_cast<CausalOpInterface>(op);
    Along all = causal ? causal.getAlong(*this) : join(&op);
    if (!causal && growsAlong(all))
      all = whole(&op, {"nothing says how '" + op.getName().getStringRef().str() + "' follows the target positions"});
    for (Value result : op.getResults()) {
      auto count = countDims(result, target);
      // A value that is repeated for all target positions is known at each of them.
      along[result] = count > 0 ? std::max(all, Along::position) : all;
      if (!growsAlong(get(result)))
        continue;
      StringRef problem;
      if (count > 1)
        problem = "this value holds pairs of target positions outside of an attention";
      else if (count == 0)
        problem = "this value mixes all target positions";
      else
        continue;
      along[result] = Along::whole;
      reasons[result] = {problem.str()};
    }
  }
}

void Causality::visit(RepeatOp repeat) {
  auto yielded = repeat.getBody().front().getTerminator()->getOperands();
  for (auto [argument, init] : llvm::zip(repeat.getCarried(), repeat.getInits()))
    along[argument] = std::max(get(argument), get(init));
  for (bool changed = true; changed;) {
    visit(repeat.getBody().front());
    changed = false;
    for (auto [argument, value] : llvm::zip(repeat.getCarried(), yielded))
      if (get(value) > get(argument)) {
        along[argument] = get(value);
        changed = true;
      }
  }
  for (auto [result, value] : llvm::zip(repeat.getResults(), yielded))
    along[result] = get(value);
  for (auto [result, argument] : llvm::zip(repeat.getResults(), repeat.getCarried()))
    along[result] = get(argument);
}

bool Need::has(Operation *op) const { return loops.contains(op) || llvm::any_of(op->getResults(), [&](Value v) { return has(v); }); }

void Need::add(Value root) {
  demand(root, {});
  while (!worklist.empty())
    follow(worklist.pop_back_val());
}

void Need::demand(Value value, Value user) {
  if (!values.insert(value))
    return;
  users[value] = user;
  worklist.push_back(value);
}

void Need::follow(Value value) {
  if (causality && causality->get(value) == Along::sentence)
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

SmallVector<Value> Need::pathFrom(Value value) const {
  SmallVector<Value> path;
  while ((value = users.lookup(value)))
    path.push_back(value);
  return path;
}

} // namespace xf::step
