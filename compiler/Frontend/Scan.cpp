#include "compiler/Frontend/Scan.h"

#include "compiler/Frontend/Evaluator.h"
#include "compiler/Frontend/Hoist.h"

#include "llvm/Support/SaveAndRestore.h"
#include <fmt/format.h>

using namespace xf::frontend;

namespace {

std::optional<unsigned> findAxis(llvm::ArrayRef<DimSize> shape, const DimSize &dim) {
  auto *it = llvm::find(shape, dim);
  return it == shape.end() ? std::nullopt : std::optional<unsigned>(it - shape.begin());
}

/// Evaluates the statements of a scan as the body of an xf.scan, and builds the operation around it.
class ScanWriter {
public:
  ScanWriter(Evaluator &e, const Expr &expr, const ScopePtr &scope, const DimSize &dim)
      : e(e), expr(expr), scope(scope), local(std::make_shared<Scope>()), scan{dim, &region.emplaceBlock(), {}, {}} {
    local->parent = scope;
    local->set(expr.text, ScanPosition{}, expr.loc);
  }

  Value run() {
    if (!declareStates() || !writeBody())
      return Poison{};
    hoistTensors(*scan.block, e.builder);
    if (scan.inputs.empty())
      return e.poison(expr.loc, "the scan reads no tensor");
    auto shape = e.tensors.broadcast(scan.inputs, expr.loc);
    if (!shape)
      return Poison{};
    auto axis = findAxis(*shape, scan.dim);
    if (!axis)
      return e.poison(expr.loc, "nothing in the scan runs along " + scan.dim.str());
    if (!broadcastInputs(*shape))
      return Poison{};
    return build(*shape, *axis);
  }

private:
  /// States are the first arguments of the body.
  bool declareStates() {
    for (const Stmt &stmt : expr.body) {
      if (stmt.kind != StmtKind::State)
        continue;
      auto init = e.asDouble(e.eval(*stmt.value, scope), stmt.value->loc, "the start of a state");
      if (!init)
        return false;
      for (const Target &target : stmt.targets) {
        states.push_back(target);
        inits.push_back(*init);
        local->set(target.name, Scalar{scan.block->addArgument(e.builder.getF32Type(), e.at(stmt.loc)), {}}, target.loc);
      }
    }
    return true;
  }

  bool writeBody() {
    mlir::OpBuilder::InsertionGuard guard(e.builder);
    llvm::SaveAndRestore current(e.currentScan, &scan);
    e.builder.setInsertionPointToEnd(scan.block);
    auto result = runStatements();
    return result && yield(*result);
  }

  /// What the scan yields; nothing after an error.
  std::optional<Value> runStatements() {
    unsigned errorsBefore = e.diagnostics.getErrorCount();
    std::optional<Value> result;
    for (const Stmt &stmt : expr.body) {
      if (stmt.kind == StmtKind::Assign)
        e.assign(stmt.targets, e.eval(*stmt.value, local), local, stmt.loc);
      else if (stmt.kind == StmtKind::Yield && !result)
        result = e.eval(*stmt.value, local);
      else if (stmt.kind != StmtKind::State)
        e.error(stmt.loc, "a scan holds states, assignments and one yield");
    }
    if (!result)
      e.error(expr.loc, "the scan yields nothing");
    if (e.diagnostics.getErrorCount() > errorsBefore || isPoison(*result))
      return std::nullopt;
    return result;
  }

  /// Ends the body, which yields the states' next values, then the results.
  bool yield(const Value &result) {
    std::vector<Value> values;
    for (const Target &state : states)
      values.push_back(local->names[state.name].value);
    if (auto *tuple = getIf<std::shared_ptr<Tuple>>(result))
      values.insert(values.end(), (*tuple)->elements.begin(), (*tuple)->elements.end());
    else
      values.push_back(result);
    llvm::SmallVector<mlir::Value> yields;
    for (const Value &value : values) {
      auto operand = operandOf(value);
      if (!operand) {
        e.error(expr.loc, "a scan's states and results are elements, not " + describe(value));
        return false;
      }
      yields.push_back(e.scalars.convert(*operand, e.builder.getF32Type(), expr.loc));
    }
    mlir::xf::YieldOp::create(e.builder, e.at(expr.loc), yields);
    return true;
  }

  /// Gives all inputs the common shape.
  bool broadcastInputs(llvm::ArrayRef<DimSize> shape) {
    for (mlir::Value input : scan.inputs) {
      if (llvm::ArrayRef(dimsOf(typeOf(input))) != shape) {
        Value broadcasted = broadcastInput(input);
        if (isPoison(broadcasted))
          return false;
        input = std::get<Tensor>(broadcasted).value;
      }
      inputs.push_back(input);
    }
    return true;
  }

  /// Gives an input the common shape: by an element-wise operation over all inputs, which returns this one.
  Value broadcastInput(mlir::Value input) {
    std::vector<Value> operands = {Tensor{input}};
    for (mlir::Value other : scan.inputs)
      operands.push_back(Tensor{other});
    return e.elementwise(operands, expr.loc, "scan", [](llvm::ArrayRef<Operand> elements) { return std::get<mlir::Value>(elements[0]); });
  }

  Value build(llvm::ArrayRef<DimSize> shape, unsigned axis) {
    size_t count = scan.block->getTerminator()->getNumOperands() - states.size();
    mlir::OperationState op(e.at(expr.loc), mlir::xf::ScanOp::getOperationName());
    llvm::SmallVector<mlir::Type> types(count, tensorOf(shape, e.builder.getF32Type()));
    mlir::xf::ScanOp::build(e.builder, op, types, inputs, axis, inits, expr.isReversed);
    op.regions[0]->takeBody(region);
    mlir::Operation *scanOp = e.builder.create(op);
    if (count == 1)
      return Tensor{scanOp->getResult(0)};
    auto results = std::make_shared<Tuple>();
    for (mlir::Value value : scanOp->getResults())
      results->elements.push_back(Tensor{value});
    return results;
  }

  Evaluator &e;
  const Expr &expr;
  const ScopePtr &scope;
  ScopePtr local; // of the body
  mlir::Region region;
  ScanBody scan;
  std::vector<Target> states;
  std::vector<double> inits; // of the states
  llvm::SmallVector<mlir::Value> inputs; // of the operation
};
} // namespace

Value ScanBody::read(Messages &messages, mlir::Value tensor, Loc loc, bool indexed) {
  bool runsAlong = findAxis(dimsOf(typeOf(tensor)), dim).has_value();
  if (runsAlong != indexed) {
    messages.error(loc, runsAlong ? "inside the scan this tensor needs the position as its index"
                                  : mlir::xf::describeShape(typeOf(tensor)) + " does not run along " + dim.str());
    messages.noteValue(tensor, "the tensor");
    return Poison{};
  }
  for (auto [input, argument] : llvm::zip(inputs, arguments))
    if (input == tensor)
      return Scalar{argument, {}};
  inputs.push_back(tensor);
  arguments.push_back(block->addArgument(typeOf(tensor).getElementType(), messages.at(loc)));
  return Scalar{arguments.back(), {}};
}

Value xf::frontend::scan(Evaluator &e, const Expr &expr, const ScopePtr &scope) {
  if (e.currentScan || !e.inBody)
    return e.poison(expr.loc, e.currentScan ? "a scan cannot stand in a scan" : "a scan stands in a method only");
  auto dim = e.evalDim(*expr.operands[0], scope);
  return dim ? ScanWriter(e, expr, scope, *dim).run() : Value(Poison{});
}

Value xf::frontend::shift(Evaluator &e, mlir::Value x, const DimSize &dim, Shift direction, Loc loc) {
  auto type = typeOf(x);
  auto axis = findAxis(dimsOf(type), dim);
  if (!axis || !type.getElementType().isF32()) {
    e.error(loc, describe(Tensor{x}) + " does not run along " + dim.str());
    e.noteValue(x, "the tensor");
    return Poison{};
  }
  mlir::OperationState op(e.at(loc), mlir::xf::ScanOp::getOperationName());
  mlir::xf::ScanOp::build(e.builder, op, mlir::TypeRange(type), mlir::ValueRange(x), *axis, llvm::ArrayRef<double>(0.0),
                          /*reverse=*/direction == Shift::advance);
  mlir::Block &block = op.regions[0]->emplaceBlock();
  mlir::Value previous = block.addArgument(e.builder.getF32Type(), e.at(loc)), current = block.addArgument(e.builder.getF32Type(), e.at(loc));
  {
    mlir::OpBuilder::InsertionGuard guard(e.builder);
    e.builder.setInsertionPointToEnd(&block);
    mlir::xf::YieldOp::create(e.builder, e.at(loc), mlir::ValueRange{current, previous});
  }
  return Tensor{e.builder.create(op)->getResult(0)};
}
