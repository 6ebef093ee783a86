// Tables: parameters whose elements a formula gives. They are evaluated in f64 when compiling, from their region.
#include "compiler/Frontend/Evaluator.h"

#include "llvm/Support/SaveAndRestore.h"
#include <fmt/format.h>

using namespace xf::frontend;

/// The table's tensor. A first index without a bound is as long as its uses need: `open` gets the parameter then.
Value Evaluator::loadTable(const TableUse &table, Loc loc, Parameter **open) {
  const Function &function = *table.function;
  if (!inBody || scalars.realType.isF64())
    return poison(loc, "the table '" + function.name + "' is used outside of a method");
  auto local = std::make_shared<Scope>();
  local->parent = table.scope;
  std::vector<DimSize> shape;
  bool isOpen = false;
  for (auto [i, index] : llvm::enumerate(function.indices)) {
    if (!index.below) {
      isOpen = true;
      if (i > 0)
        return poison(index.loc, "index '" + index.name + "' of table '" + function.name + "' needs a bound: " + index.name + " < …");
      shape.push_back({1, ""});
      continue;
    }
    auto size = evalDim(*index.below, local);
    if (!size)
      return Poison{};
    if (size->isDynamic())
      return poison(index.loc, "the size of a table must be known when compiling, but " + size->name + " is known at run time only");
    shape.push_back(*size);
  }
  if (isOpen && !open) {
    error(loc, "the table '" + function.name + "' has no length; index it with positions(…), or bound its first index");
    note(function.loc, "'" + function.name + "' is declared here");
    return Poison{};
  }
  const InstanceRef *self = nullptr;
  for (Scope *scope = table.scope.get(); scope && !self; scope = scope->parent.get())
    self = scope->self ? &*scope->self : nullptr;
  std::unique_ptr<Parameter> &parameter = tables[table.key];
  if (!parameter) {
    parameter = std::make_unique<Parameter>();
    parameter->loc = function.loc;
    std::string prefix = self && !self->instance->symbol.empty() ? self->instance->symbol + "." : "";
    parameter->symbol = prefix + function.name;
    for (unsigned i = 2; !symbols.insert(parameter->symbol).second; ++i)
      parameter->symbol = fmt::format("{}{}_{}", prefix, function.name, i);
    if (self && function.path)
      parameter->counts = self->instance->counts;
    if (!fillTable(*parameter, table, local, shape, loc))
      return Poison{};
  }
  if (!parameter->op)
    return Poison{}; // its error has been reported
  if (open)
    *open = isOpen ? parameter.get() : nullptr;
  return force(WeightRef{parameter.get(), parameter->counts.empty() ? Indices() : self->indices}, loc);
}

bool Evaluator::fillTable(Parameter &parameter, const TableUse &table, const ScopePtr &scope, llvm::ArrayRef<DimSize> shape, Loc loc) {
  const Function &function = *table.function;
  double elements = 1;
  for (const DimSize &dim : shape)
    elements *= static_cast<double>(dim.size);
  if (elements > TableUse::kMostElements)
    return error(function.loc, fmt::format("table '{}' would have {:.3g} elements", function.name, elements)), false;
  mlir::OpBuilder::InsertionGuard guard(builder);
  llvm::SaveAndRestore real(scalars.realType, mlir::Type(builder.getF64Type()));
  llvm::SaveAndRestore noScan(currentScan, static_cast<ScanState *>(nullptr));
  auto region = std::make_unique<mlir::Region>();
  mlir::Block *block = &region->emplaceBlock();
  for (auto [index, dim] : llvm::zip(function.indices, shape)) {
    mlir::Value position = block->addArgument(builder.getIndexType(), at(index.loc));
    scope->set(index.name, Scalar{position, {}}, index.loc);
  }
  builder.setInsertionPointToEnd(block);
  calls.push_back({loc});
  Value value = function.expr ? eval(*function.expr, scope) : exec(function.body, scope).value_or(Value(None{}));
  calls.pop_back();
  if (isPoison(value))
    return false;
  auto operand = operandOf(value);
  if (!operand)
    return error(function.loc, "table '" + function.name + "' must give a number for each element, not " + describe(value)), false;
  mlir::xf::YieldOp::create(builder, at(function.loc), scalars.convert(*operand, builder.getF64Type(), function.loc));
  std::string path = function.path.value_or("");
  if (function.path)
    for (Scope *outer = table.scope.get(); outer; outer = outer->parent.get())
      if (outer->self && !outer->self->instance->path.empty()) {
        path = outer->self->instance->path + "." + path;
        break;
      }
  parameter.type = tensorOf(shape, builder.getF32Type());
  builder.setInsertionPointToEnd(module->getBody());
  auto op = mlir::xf::ParameterOp::create(builder, at(function.loc), parameter.symbol, parameter.type,
                                          function.path ? builder.getStringAttr(path) : mlir::StringAttr(), parameter.counts);
  op.getInit().takeBody(*region);
  parameter.op = op;
  return true;
}

/// position(d)[positions(T)]
Value Evaluator::indexTable(const TableUse &table, mlir::Value ids, Loc loc) {
  Parameter *open = nullptr;
  Value value = loadTable(table, loc, &open);
  if (isPoison(value))
    return value;
  if (open) {
    auto positions = ids.getDefiningOp<mlir::xf::PositionsOp>();
    int64_t offset = positions ? static_cast<int64_t>(positions.getOffset()) : -1;
    if (offset < 0)
      return poison(loc, "the table '" + table.function->name + "' has no length, so only positions(…) can index it; bound its first index");
    open->uses.push_back({dimOf(positions.getType(), 0), offset});
  }
  return embed(std::get<Tensor>(value).value, ids, loc, !open);
}
