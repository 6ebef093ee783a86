// The bounds of all dimensions: from --limit, else from the description, else from position tables.
#include "compiler/Frontend/Evaluator.h"

#include "llvm/ADT/StringExtras.h"

#include <fmt/format.h>

using namespace xf::frontend;

namespace {
constexpr int64_t kDefaultBatch = 8, kDefaultLength = 512;
} // namespace

void Bounds::declare(const Instance &model) {
  auto scope = std::make_shared<Scope>();
  scope->self = InstanceRef{const_cast<Instance *>(&model), {}};
  scope->parent = model.scope;
  for (const Function *entry : model.entries)
    for (const Param &param : entry->params)
      for (size_t i = 0; param.type && i < param.type->dims.size(); ++i)
        if (param.type->dims[i].bound)
          declareDim(param.type->dims[i], scope);
}

void Bounds::declareDim(const DimExpr &dim, const ScopePtr &scope) {
  if (dim.size->kind != ExprKind::Name)
    return e.error(dim.loc, "only a dimension's name can have a bound");
  auto bound = e.asInt(e.eval(*dim.bound, scope), dim.bound->loc, "the bound");
  if (!bound)
    return;
  if (*bound < 1 || *bound > INT32_MAX)
    return e.error(dim.bound->loc, fmt::format("a dimension's bound cannot be {}", *bound));
  Dim &info = dims[dim.size->text];
  if (info.declared && *info.declared != *bound) {
    e.error(dim.loc, fmt::format("'{}' has the bound {} here", dim.size->text, *bound));
    e.note(info.loc, fmt::format("but {} here", *info.declared));
  }
  info.declared = *bound;
  info.loc = dim.loc;
}

void Bounds::limitTo(llvm::StringRef dim, int64_t rows, Loc table) {
  Dim &info = dims[dim.str()];
  if (info.table && rows >= *info.table)
    return;
  info.table = rows;
  info.tableLoc = table;
}

int64_t Bounds::of(llvm::StringRef dim) const {
  bool isBatch = batch.empty() ? dim == "B" : dim == batch;
  std::optional<int64_t> limit; // the last one counts
  for (auto &[name, value] : e.options.limits)
    if (name == dim || (name == "batch" && isBatch) || (name == "source" && dim == source) || (name == "target" && dim == target))
      limit = value;
  if (limit)
    return *limit;
  if (auto it = dims.find(dim.str()); it != dims.end() && (it->second.declared || it->second.table))
    return it->second.declared ? *it->second.declared : *it->second.table;
  return isBatch ? kDefaultBatch : kDefaultLength;
}

void Bounds::noteDeclared(llvm::StringRef dim) const {
  if (auto it = dims.find(dim.str()); it != dims.end())
    e.note(it->second.loc, fmt::format("'{}' may be up to {}", dim.str(), of(dim)));
}

void Bounds::write(const std::set<std::string> &inputDims) {
  checkLimits(inputDims);
  llvm::SmallVector<mlir::NamedAttribute> bounds;
  for (const std::string &dim : inputDims) {
    int64_t bound = of(dim);
    checkTableRows(dim, bound);
    bounds.push_back(e.builder.getNamedAttr(dim, e.builder.getI64IntegerAttr(bound)));
  }
  (*e.module)->setAttr(mlir::xf::kBoundsAttr, e.builder.getDictionaryAttr(bounds));
}

void Bounds::checkLimits(const std::set<std::string> &inputDims) {
  llvm::SmallVector<std::string> validNames(inputDims.begin(), inputDims.end());
  if (inputDims.contains(batch.empty() ? "B" : batch))
    validNames.push_back("batch");
  if (!target.empty())
    validNames.push_back("beam");
  for (auto [role, dim] : {std::pair("source", &source), {"target", &target}})
    if (!dim->empty())
      validNames.push_back(role);
  for (auto &[name, value] : e.options.limits) {
    if (!llvm::is_contained(validNames, name))
      e.error({}, "--limit " + name + ": the model has no dimension '" + name + "' (it has " + llvm::join(validNames, ", ") + ")");
    else if (value < 1 || value > INT32_MAX)
      e.error({}, fmt::format("--limit {}={}: a limit must be between 1 and {}", name, value, INT32_MAX));
  }
}

/// Checks that a position table that the dimension indexes has enough rows.
void Bounds::checkTableRows(llvm::StringRef dim, int64_t bound) {
  auto it = dims.find(dim.str());
  if (it == dims.end() || !it->second.table || bound <= *it->second.table)
    return;
  const Dim &info = it->second;
  e.error(info.declared == bound ? info.loc : Loc{},
          fmt::format("'{}' may be up to {}, but the position table has {} rows for it", dim.str(), bound, *info.table));
  e.note(info.tableLoc, "the table is declared here");
}
