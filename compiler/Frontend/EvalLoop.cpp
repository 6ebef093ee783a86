// `for`: over a stack of equal layers it becomes one xf.repeat, over anything else it is unrolled.
#include "compiler/Frontend/Evaluator.h"

#include "llvm/Support/SaveAndRestore.h"

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

/// Element `index` of a list. The running index of a repeat is for lists of equal elements only.
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

namespace {
/// A loop over equal layers: its body is evaluated once for all, with the layer's index as a value, and becomes an xf.repeat.
class RepeatWriter {
public:
  RepeatWriter(Evaluator &e, const Stmt &stmt, const List &list, const ScopePtr &scope)
      : e(e), stmt(stmt), list(list), scope(scope), loc(e.at(stmt.loc)), before(scope->names) {
    collectAssigned(stmt.body, assigned);
  }

  void run() {
    if (!findCarried())
      return (void)e.poisonAssigned(stmt, scope);
    do {
      good = runBody();
      after = std::move(scope->names);
      scope->names = before;
    } while (good && startAgain());
    yieldCarried();
    for (const Target &target : assigned)
      if (!llvm::is_contained(results, target.name) && after.contains(target.name))
        keepVariable(target, after[target.name]);
    if (good)
      build();
    else
      discard();
  }

private:
  /// Finds what is carried from layer to layer: tensors that exist before the loop and are assigned in it.
  bool findCarried() {
    for (const Target &target : assigned) {
      auto it = before.find(target.name);
      if (it == before.end())
        continue;
      Value value = e.force(it->second.value, it->second.loc);
      if (holds<LazyInput *>(value)) {
        e.asTensor(value, stmt.loc, "");
        return false;
      }
      if (auto *tensor = getIf<Tensor>(value)) {
        carried.push_back(target);
        inits.push_back(tensor->value);
      }
    }
    return true;
  }

  /// False after an error.
  bool runBody() {
    mlir::Value layer = body->addArgument(e.builder.getIndexType(), loc);
    for (auto [target, init] : llvm::zip(carried, inits))
      scope->set(target.name, Tensor{body->addArgument(init.getType(), init.getLoc())}, before[target.name].loc);
    unsigned errorsBefore = e.diagnostics.getErrorCount();
    mlir::OpBuilder::InsertionGuard guard(e.builder);
    e.builder.setInsertionPointToEnd(body);
    llvm::SaveAndRestore inside(e.layerBody, body);
    e.assign(stmt.targets, e.elementAt(list, layer), scope, stmt.loc);
    if (e.exec(stmt.body, scope) && e.diagnostics.getErrorCount() == errorsBefore)
      e.error(stmt.loc, "a loop over layers cannot return; assign to a variable, and return that behind the loop");
    return e.diagnostics.getErrorCount() == errorsBefore;
  }

  /// Turns numbers that the body replaces by tensors (`sum = 0`) into tensors of that shape, which are carried. True if there are any: the body
  /// must be evaluated again with them.
  bool startAgain() {
    size_t carriedBefore = carried.size();
    for (const Target &target : assigned) {
      auto start = before.find(target.name);
      if (start == before.end() || llvm::any_of(carried, [&](const Target &t) { return t.name == target.name; }))
        continue;
      auto *end = getIf<Tensor>(after[target.name].value);
      if (!end)
        continue;
      if (mlir::TypedAttr element = asElement(start->second.value, end->type().getElementType())) {
        carried.push_back(target);
        inits.push_back(e.tensors.fill(end->type(), element, start->second.loc));
      }
    }
    if (carried.size() == carriedBefore)
      return false;
    e.probabilities.forget(region);
    region.dropAllReferences();
    region.getBlocks().clear();
    body = &region.emplaceBlock();
    return true;
  }

  /// A number as an element of a tensor; null if it cannot be one.
  mlir::TypedAttr asElement(const Value &value, mlir::Type type) {
    auto *integer = getIf<int64_t>(value);
    if (type.isF32() && (integer || holds<double>(value)))
      return e.builder.getF32FloatAttr(static_cast<float>(toDouble(value)));
    if (type.isInteger(32) && integer && llvm::isInt<32>(*integer))
      return e.builder.getI32IntegerAttr(static_cast<int32_t>(*integer));
    if (type.isInteger(1) && holds<bool>(value))
      return e.builder.getBoolAttr(std::get<bool>(value));
    return {};
  }

  void yieldCarried() {
    for (auto [target, init] : llvm::zip(carried, inits)) {
      Value value = e.force(after[target.name].value, target.loc);
      auto *tensor = getIf<Tensor>(value);
      bool same = tensor && tensor->value.getType() == init.getType();
      if (!same && !isPoison(value)) {
        e.error(target.loc, "'" + target.name + "' changes from " + describe(Tensor{init}) + " to " + describe(value) +
                                " in a layer; what layers pass on must keep its shape");
        e.noteValue(init, "the shape before the loop");
      }
      good &= same;
      yield(target, tensor ? tensor->value : init);
    }
  }

  /// Keeps a value that the body sets and that is not carried: the last layer's tensor, or a constant, the same in every layer.
  void keepVariable(const Target &target, const Binding &binding) {
    if (auto it = scope->names.find(target.name); it != scope->names.end()) {
      if (printValue(it->second.value) == printValue(binding.value) || isPoison(binding.value))
        return;
      e.error(target.loc, "'" + target.name + "' is " + describe(it->second.value) + " before the loop; only tensors can change from layer to layer");
      e.note(it->second.loc, "'" + target.name + "' is set here");
      good = false;
    } else if (auto *tensor = getIf<Tensor>(binding.value)) {
      yield(target, tensor->value);
    } else if (isNumber(binding.value) || holds<std::string>(binding.value) || holds<None>(binding.value)) {
      scope->names[target.name] = binding;
    }
  }

  void yield(const Target &target, mlir::Value value) {
    yields.push_back(value);
    results.push_back(target.name);
  }

  /// The region's operations go away with it; nothing outside refers to them.
  void discard() {
    for (const Target &target : assigned)
      scope->set(target.name, Poison{}, target.loc);
    body->dropAllDefinedValueUses();
  }

  void build() {
    {
      mlir::OpBuilder::InsertionGuard guard(e.builder);
      e.builder.setInsertionPointToEnd(body);
      mlir::xf::YieldOp::create(e.builder, loc, yields);
    }
    mlir::OperationState state(loc, mlir::xf::RepeatOp::getOperationName());
    mlir::xf::RepeatOp::build(e.builder, state, mlir::ValueRange(yields).getTypes(), list.count, inits);
    state.regions[0]->takeBody(region);
    mlir::Operation *op = e.builder.create(state);
    for (auto [name, result] : llvm::zip(results, op->getResults()))
      scope->set(name, Tensor{result}, stmt.loc);
  }

  Evaluator &e;
  const Stmt &stmt;
  const List &list;
  const ScopePtr &scope;
  mlir::Location loc;
  std::vector<Target> assigned, carried;
  llvm::SmallVector<mlir::Value> inits;         // of `carried`
  llvm::StringMap<Binding> before, after;       // the scope around the body
  mlir::Region region;
  mlir::Block *body = &region.emplaceBlock();
  llvm::SmallVector<mlir::Value> yields;
  std::vector<std::string> results; // the names of `yields`
  bool good = true;
};
} // namespace

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
    if ((*list)->count > 0 && !inBody)
      error(stmt.loc, "layers run in methods and entries only");
    else if ((*list)->count > 0)
      RepeatWriter(*this, stmt, **list, scope).run();
    return std::nullopt;
  }
  for (const Value &element : (*list)->elements) {
    if (diagnostics.reachedErrorLimit() || !countSteps(stmt.loc))
      return Poison{};
    assign(stmt.targets, element, scope, stmt.loc);
    if (auto result = exec(stmt.body, scope))
      return result;
  }
  return std::nullopt;
}
