#include "compiler/Frontend/Evaluator.h"

#include "llvm/Support/SaveAndRestore.h"
#include <fmt/format.h>

using namespace xf::frontend;

/// The sizes of a table's indices. A first index without a bound gets the size that its uses need, and 1 for now.
std::optional<std::vector<DimSize>> Tables::shapeOf(const Function &function, const ScopePtr &scope) {
  std::vector<DimSize> shape;
  for (auto [i, index] : llvm::enumerate(function.indices)) {
    if (!index.below) {
      if (i > 0)
        return e.error(index.loc, "index '" + index.name + "' of table '" + function.name + "' needs a bound: " + index.name + " < …"), std::nullopt;
      shape.push_back({1, ""});
      continue;
    }
    auto size = e.evalDim(*index.below, scope);
    if (!size)
      return std::nullopt;
    if (size->isDynamic()) {
      e.error(index.loc, "the size of a table must be known when compiling, but " + size->name + " is known at run time only");
      return std::nullopt;
    }
    shape.push_back(*size);
  }
  return shape;
}

/// The table's tensor. A table without a declared length is an error unless there is `unsized`, which is set to its parameter.
Value Tables::load(const TableUse &table, Loc loc, Parameter **unsized) {
  const Function &function = *table.function;
  if (!e.inBody || e.scalars.realType.isF64())
    return e.poison(loc, "the table '" + function.name + "' is used outside of a method");
  auto local = std::make_shared<Scope>();
  local->parent = table.scope;
  auto shape = shapeOf(function, local);
  if (!shape)
    return Poison{};
  bool isUnsized = !function.indices.empty() && !function.indices.front().below;
  if (isUnsized && !unsized) {
    e.error(loc, "the table '" + function.name + "' has no length; index it with positions(…), or bound its first index");
    e.note(function.loc, "'" + function.name + "' is declared here");
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
    parameter->symbol = e.instances.newSymbol(prefix + function.name, "_");
    if (self && function.path)
      parameter->counts = self->instance->counts;
    if (!fill(*parameter, table, local, *shape, loc))
      return Poison{};
  }
  if (!parameter->op)
    return Poison{}; // its error has been reported
  if (unsized)
    *unsized = isUnsized ? parameter.get() : nullptr;
  return e.force(WeightRef{parameter.get(), parameter->counts.empty() ? Indices() : self->indices}, loc);
}

bool Tables::fill(Parameter &parameter, const TableUse &table, const ScopePtr &scope, llvm::ArrayRef<DimSize> shape, Loc loc) {
  const Function &function = *table.function;
  double elements = 1;
  for (const DimSize &dim : shape)
    elements *= static_cast<double>(dim.size);
  if (elements > kMaxElements)
    return e.error(function.loc, fmt::format("table '{}' would have {:.3g} elements", function.name, elements)), false;
  mlir::OpBuilder::InsertionGuard guard(e.builder);
  llvm::SaveAndRestore real(e.scalars.realType, mlir::Type(e.builder.getF64Type()));
  llvm::SaveAndRestore noScan(e.currentScan, static_cast<ScanBody *>(nullptr));
  auto region = std::make_unique<mlir::Region>();
  mlir::Block *block = &region->emplaceBlock();
  for (auto [index, dim] : llvm::zip(function.indices, shape)) {
    mlir::Value position = block->addArgument(e.builder.getIndexType(), e.at(index.loc));
    scope->set(index.name, Scalar{position, {}}, index.loc);
  }
  e.builder.setInsertionPointToEnd(block);
  e.calls.push_back({loc});
  Value value = function.expr ? e.eval(*function.expr, scope) : e.exec(function.body, scope).value_or(Value(None{}));
  e.calls.pop_back();
  if (isPoison(value))
    return false;
  auto operand = operandOf(value);
  if (!operand)
    return e.error(function.loc, "table '" + function.name + "' must give a number for each element, not " + describe(value)), false;
  mlir::xf::YieldOp::create(e.builder, e.at(function.loc), e.scalars.convert(*operand, e.builder.getF64Type(), function.loc));
  std::string path = function.path.value_or("");
  if (function.path)
    for (Scope *outer = table.scope.get(); outer; outer = outer->parent.get())
      if (outer->self && !outer->self->instance->path.empty()) {
        path = outer->self->instance->path + "." + path;
        break;
      }
  parameter.type = tensorOf(shape, e.builder.getF32Type());
  e.builder.setInsertionPointToEnd(e.module->getBody());
  auto op = mlir::xf::ParameterOp::create(e.builder, e.at(function.loc), parameter.symbol, parameter.type,
                                          function.path ? e.builder.getStringAttr(path) : mlir::StringAttr(), parameter.counts);
  op.getInit().takeBody(*region);
  parameter.op = op;
  return true;
}

Value Tables::index(const TableUse &table, mlir::Value ids, Loc loc) {
  Parameter *unsized = nullptr;
  Value value = load(table, loc, &unsized);
  if (isPoison(value))
    return value;
  if (unsized) {
    auto positions = ids.getDefiningOp<mlir::xf::PositionsOp>();
    int64_t offset = positions ? static_cast<int64_t>(positions.getOffset()) : -1;
    if (offset < 0)
      return e.poison(loc, "the table '" + table.function->name + "' has no length, so only positions(…) can index it; bound its first index");
    unsized->uses.push_back({dimOf(positions.getType(), 0), offset});
  }
  return e.embed(std::get<Tensor>(value).value, ids, loc, !unsized);
}

void Tables::inferLengths(const Bounds &bounds) {
  for (auto &[key, table] : tables) {
    if (table->uses.empty())
      continue;
    int64_t rows = 1;
    for (auto &[dim, offset] : table->uses)
      rows = std::max(rows, (dim.isDynamic() ? bounds.of(dim.name) : dim.size) + offset);
    auto type = mlir::xf::withDim(table->type, 0, rows, "");
    if (static_cast<double>(rows) * static_cast<double>(type.getNumElements() / rows) > kMaxElements) {
      e.error(table->loc,
              fmt::format("the table would have {} rows, more than {:.0f} numbers in all: the positions that read it need a smaller bound", rows,
                          kMaxElements));
      for (auto &[dim, offset] : table->uses)
        bounds.noteDeclared(dim.name);
      continue;
    }
    llvm::cast<mlir::xf::ParameterOp>(table->op).setType(type);
    e.module->walk([&](mlir::xf::ParamOp op) {
      if (op.getName() == table->symbol)
        op.getResult().setType(type);
    });
  }
}
