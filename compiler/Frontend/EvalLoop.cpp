// `for`: over a stack of equal layers it becomes one xf.repeat, over anything else it is unrolled.
#include "compiler/Frontend/Evaluator.h"

#include <fmt/format.h>

using namespace xf::frontend;

void xf::frontend::collectAssigned(const std::vector<Stmt> &body, std::vector<Target> &names) {
  for (const Stmt &stmt : body) {
    if (stmt.kind == StmtKind::Assign || stmt.kind == StmtKind::For)
      for (const Target &target : stmt.targets)
        if (llvm::none_of(names, [&](const Target &t) { return t.name == target.name; }))
          names.push_back(target);
    collectAssigned(stmt.body, names);
    collectAssigned(stmt.otherwise, names);
  }
}

/// Element `index` of a list; the running index of a repeat for lists of equal elements only.
Value Evaluator::elementAt(const List &list, Index index) {
  if (!list.element)
    return list.elements[std::get<int64_t>(index)];
  if (auto *tuple = getIf<std::shared_ptr<Tuple>>(*list.element)) { // zip
    auto elements = std::make_shared<Tuple>();
    for (const Value &part : (*tuple)->elements)
      elements->elements.push_back(elementAt(*std::get<std::shared_ptr<List>>(part), index));
    return elements;
  }
  auto *instance = getIf<InstanceRef>(*list.element);
  if (!list.indexed || !instance)
    return *list.element;
  InstanceRef element = *instance;
  element.indices.push_back(index);
  return element;
}

std::optional<Value> Evaluator::execFor(const Stmt &stmt, const ScopePtr &scope) {
  Value value = eval(*stmt.value, scope);
  if (isPoison(value))
    return poisonAssigned(stmt, scope);
  auto *list = getIf<std::shared_ptr<List>>(value);
  if (!list) {
    error(stmt.value->loc, describe(value) + " is no list; 'for' runs over a list of blocks, a list or range(n)");
    return poisonAssigned(stmt, scope);
  }
  if ((*list)->element) {
    if ((*list)->count > 0)
      repeat(stmt, **list, scope);
    return std::nullopt;
  }
  for (const Value &element : (*list)->elements) {
    if (diagnostics.isFull() || !spend(stmt.loc))
      return Poison{};
    assign(stmt.targets, element, scope, stmt.loc);
    if (auto result = exec(stmt.body, scope))
      return result;
  }
  return std::nullopt;
}

void Evaluator::repeat(const Stmt &stmt, const List &list, const ScopePtr &scope) {
  if (!inBody)
    return error(stmt.loc, "layers run in methods and entries only");
  std::vector<Target> assigned;
  collectAssigned(stmt.body, assigned);
  llvm::StringMap<Binding> before = scope->names;
  // What lives before the loop and is assigned in it is carried from layer to layer.
  std::vector<Target> carried;
  llvm::SmallVector<mlir::Value> inits;
  for (const Target &target : assigned) {
    auto it = before.find(target.name);
    if (it == before.end())
      continue;
    Value value = force(it->second.value, it->second.loc);
    if (holds<LazyInput *>(value)) {
      asTensor(value, stmt.loc, "");
      return (void)poisonAssigned(stmt, scope);
    }
    if (auto *tensor = getIf<Tensor>(value)) {
      carried.push_back(target);
      inits.push_back(tensor->value);
    }
  }

  mlir::Location loc = at(stmt.loc);
  mlir::Region region;
  mlir::Block *block = &region.emplaceBlock();
  mlir::Value layer = block->addArgument(builder.getIndexType(), loc);
  for (auto [target, init] : llvm::zip(carried, inits))
    scope->set(target.name, Tensor{block->addArgument(init.getType(), init.getLoc())}, before[target.name].loc);
  unsigned errorsBefore = diagnostics.getErrorCount();
  {
    mlir::OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(block);
    assign(stmt.targets, elementAt(list, layer), scope, stmt.loc);
    if (exec(stmt.body, scope) && diagnostics.getErrorCount() == errorsBefore)
      error(stmt.loc, "a loop over layers cannot return");
  }

  llvm::StringMap<Binding> after = std::move(scope->names);
  scope->names = std::move(before);
  llvm::SmallVector<mlir::Value> yields;
  std::vector<std::string> results;
  bool good = diagnostics.getErrorCount() == errorsBefore;
  for (auto [i, target] : llvm::enumerate(carried)) {
    Value value = force(after[target.name].value, target.loc);
    auto *tensor = getIf<Tensor>(value);
    if (!isPoison(value) && (!tensor || tensor->value.getType() != inits[i].getType())) {
      error(target.loc, "'" + target.name + "' changes from " + describe(Tensor{inits[i]}) + " to " + describe(value) +
                            " in a layer; what layers pass on must keep its shape");
      noteValue(inits[i], "the shape before the loop");
    }
    good &= tensor && tensor->value.getType() == inits[i].getType();
    yields.push_back(tensor ? tensor->value : inits[i]);
    results.push_back(target.name);
  }
  for (const Target &target : assigned) {
    if (llvm::is_contained(results, target.name) || !after.count(target.name))
      continue;
    Binding binding = after[target.name];
    if (auto it = scope->names.find(target.name); it != scope->names.end()) {
      if (printValue(it->second.value) == printValue(binding.value) || isPoison(binding.value))
        continue;
      error(target.loc, "'" + target.name + "' is " + describe(it->second.value) + " before the loop; only tensors can change from layer to layer");
      note(it->second.loc, "'" + target.name + "' is set here");
      good = false;
    } else if (auto *tensor = getIf<Tensor>(binding.value)) {
      yields.push_back(tensor->value);
      results.push_back(target.name);
    } else if (isNumber(binding.value) || holds<std::string>(binding.value) || holds<None>(binding.value)) {
      scope->names[target.name] = binding;
    }
  }
  if (!good) {
    // The region's operations go away with it; nothing outside refers to them.
    for (const Target &target : assigned)
      scope->set(target.name, Poison{}, target.loc);
    region.getBlocks().front().dropAllDefinedValueUses();
    return;
  }
  {
    mlir::OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(block);
    mlir::xf::YieldOp::create(builder, loc, yields);
  }
  mlir::OperationState state(loc, mlir::xf::RepeatOp::getOperationName());
  llvm::SmallVector<mlir::Type> types = llvm::map_to_vector(yields, [](mlir::Value v) { return v.getType(); });
  mlir::xf::RepeatOp::build(builder, state, types, list.count, inits);
  state.regions[0]->takeBody(region);
  mlir::Operation *op = builder.create(state);
  for (auto [name, result] : llvm::zip(results, op->getResults()))
    scope->set(name, Tensor{result}, stmt.loc);
}
