// scan t along T { state c = 0; c = …; yield … }: a recurrence over elements becomes one xf.scan.
#include "compiler/Frontend/Evaluator.h"
#include "compiler/Frontend/Hoist.h"

#include "llvm/Support/SaveAndRestore.h"
#include <fmt/format.h>

using namespace xf::frontend;

namespace {
mlir::RankedTensorType typeOf(mlir::Value value) { return llvm::cast<mlir::RankedTensorType>(value.getType()); }

std::optional<unsigned> findAxis(llvm::ArrayRef<DimSize> shape, const DimSize &dim) {
  auto *it = llvm::find(shape, dim);
  return it == shape.end() ? std::nullopt : std::optional<unsigned>(it - shape.begin());
}
} // namespace

/// The element of a tensor at the scan's position; a tensor without the scan's dimension is the same at each.
Value Evaluator::scanInput(mlir::Value tensor, Loc loc, bool indexed) {
  ScanState &state = *currentScan;
  bool follows = findAxis(dimsOf(typeOf(tensor)), state.dim).has_value();
  if (follows != indexed) {
    error(loc, follows ? "inside the scan this tensor needs the position as its index"
                       : mlir::xf::describeShape(typeOf(tensor)) + " does not run along " + state.dim.str());
    noteValue(tensor, "the tensor");
    return Poison{};
  }
  for (auto [input, argument] : llvm::zip(state.inputs, state.arguments))
    if (input == tensor)
      return Scalar{argument, {}};
  state.inputs.push_back(tensor);
  state.arguments.push_back(state.body->addArgument(typeOf(tensor).getElementType(), at(loc)));
  return Scalar{state.arguments.back(), {}};
}

Value Evaluator::scan(const Expr &expr, const ScopePtr &scope) {
  if (currentScan || !inBody)
    return poison(expr.loc, currentScan ? "a scan cannot stand in a scan" : "a scan stands in a method only");
  auto dim = evalDim(*expr.operands[0], scope);
  if (!dim)
    return Poison{};
  mlir::Region region;
  ScanState state{*dim, &region.emplaceBlock(), {}, {}};
  auto local = std::make_shared<Scope>();
  local->parent = scope;
  local->set(expr.text, ScanPosition{}, expr.loc);
  std::vector<Target> states;
  std::vector<double> init;
  for (const Stmt &stmt : expr.body) {
    if (stmt.kind != StmtKind::State)
      continue;
    auto number = asNumber(eval(*stmt.value, scope), stmt.value->loc, "the start of a state");
    if (!number)
      return Poison{};
    for (const Target &target : stmt.targets) {
      states.push_back(target);
      init.push_back(*number);
      local->set(target.name, Scalar{state.body->addArgument(builder.getF32Type(), at(stmt.loc)), {}}, target.loc);
    }
  }
  std::optional<Value> result;
  unsigned errorsBefore = diagnostics.getErrorCount();
  {
    mlir::OpBuilder::InsertionGuard guard(builder);
    llvm::SaveAndRestore current(currentScan, &state);
    builder.setInsertionPointToEnd(state.body);
    for (const Stmt &stmt : expr.body) {
      if (stmt.kind == StmtKind::Assign)
        assign(stmt.targets, eval(*stmt.value, local), local, stmt.loc);
      else if (stmt.kind == StmtKind::Yield && !result)
        result = eval(*stmt.value, local);
      else if (stmt.kind != StmtKind::State)
        error(stmt.loc, "a scan holds states, assignments and one yield");
    }
    if (!result)
      error(expr.loc, "the scan yields nothing");
    if (diagnostics.getErrorCount() > errorsBefore || isPoison(*result))
      return Poison{};
    llvm::SmallVector<mlir::Value> yields;
    std::vector<Value> values;
    for (const Target &target : states)
      values.push_back(local->names[target.name].value);
    auto *tuple = getIf<std::shared_ptr<Tuple>>(*result);
    if (tuple)
      values.insert(values.end(), (*tuple)->elements.begin(), (*tuple)->elements.end());
    else
      values.push_back(*result);
    for (const Value &value : values) {
      auto operand = scalarOperand(value);
      if (!operand)
        return poison(expr.loc, "a scan's states and results are elements, not " + describe(value));
      yields.push_back(convert(*operand, builder.getF32Type(), expr.loc));
    }
    mlir::xf::YieldOp::create(builder, at(expr.loc), yields);
  }
  hoistTensors(*state.body, builder);
  if (state.inputs.empty())
    return poison(expr.loc, "the scan reads no tensor");
  auto shape = broadcast(state.inputs, expr.loc);
  if (!shape)
    return Poison{};
  auto axis = findAxis(*shape, *dim);
  if (!axis)
    return poison(expr.loc, "nothing in the scan runs along " + dim->str());
  llvm::SmallVector<mlir::Value> inputs;
  for (mlir::Value input : state.inputs) {
    if (dimsOf(typeOf(input)) != *shape) { // spread over the common shape
      std::vector<Value> operands = {Tensor{input}};
      for (mlir::Value other : state.inputs)
        operands.push_back(Tensor{other});
      Value wide = elementwise(operands, expr.loc, "scan",
                               [&](llvm::ArrayRef<Operand> e) { return std::get<mlir::Value>(e[0]); });
      if (isPoison(wide))
        return wide;
      input = std::get<Tensor>(wide).value;
    }
    inputs.push_back(input);
  }
  size_t count = state.body->getTerminator()->getNumOperands() - states.size();
  mlir::OperationState op(at(expr.loc), mlir::xf::ScanOp::getOperationName());
  llvm::SmallVector<mlir::Type> types(count, tensorOf(*shape, builder.getF32Type()));
  mlir::xf::ScanOp::build(builder, op, types, inputs, *axis, init);
  op.regions[0]->takeBody(region);
  mlir::Operation *made = builder.create(op);
  if (count == 1)
    return Tensor{made->getResult(0)};
  auto results = std::make_shared<Tuple>();
  for (mlir::Value value : made->getResults())
    results->elements.push_back(Tensor{value});
  return results;
}

/// x shifted by one position, zeros first.
Value Evaluator::delay(mlir::Value x, const DimSize &dim, Loc loc) {
  auto type = typeOf(x);
  auto axis = findAxis(dimsOf(type), dim);
  if (!axis || !type.getElementType().isF32()) {
    error(loc, describe(Tensor{x}) + " does not run along " + dim.str());
    noteValue(x, "the tensor");
    return Poison{};
  }
  mlir::OperationState op(at(loc), mlir::xf::ScanOp::getOperationName());
  mlir::xf::ScanOp::build(builder, op, mlir::TypeRange(type), mlir::ValueRange(x), *axis, llvm::ArrayRef<double>(0.0));
  mlir::Block &block = op.regions[0]->emplaceBlock();
  mlir::Value last = block.addArgument(builder.getF32Type(), at(loc)), now = block.addArgument(builder.getF32Type(), at(loc));
  {
    mlir::OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&block);
    mlir::xf::YieldOp::create(builder, at(loc), mlir::ValueRange{now, last});
  }
  return Tensor{builder.create(op)->getResult(0)};
}
