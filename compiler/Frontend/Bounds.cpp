// The bounds of all dimensions: what --limit says, what the description does, and what position tables allow.
#include "compiler/Frontend/Evaluator.h"

#include <fmt/format.h>

using namespace xf::frontend;

namespace {
constexpr int64_t kDefaultBatch = 8, kDefaultLength = 512;
} // namespace

int64_t Evaluator::boundOf(llvm::StringRef dim) const {
  bool isBatch = batchDim.empty() ? dim == "B" : dim == batchDim;
  std::optional<int64_t> role;
  for (auto &[name, value] : options.limits) {
    if (name == dim)
      return value;
    if ((name == "batch" && isBatch) || (name == "source" && dim == sourceDim) || (name == "target" && dim == targetDim))
      role = value;
  }
  if (role)
    return *role;
  if (auto it = dims.find(dim.str()); it != dims.end() && (it->second.declared || it->second.table))
    return it->second.declared ? *it->second.declared : *it->second.table;
  return isBatch ? kDefaultBatch : kDefaultLength;
}

/// Checks the limits, writes `xf.bounds`, and gives tables without a length as many rows as their dimensions need.
void Evaluator::setBounds() {
  std::set<std::string> inputDims;
  for (EntryInfo &entry : entries)
    for (mlir::Type type : entry.op.getFunctionType().getInputs())
      for (llvm::StringRef name : mlir::xf::getDimNames(llvm::cast<mlir::RankedTensorType>(type)))
        if (!name.empty())
          inputDims.insert(name.str());
  checkLimits(inputDims);
  llvm::SmallVector<mlir::NamedAttribute> bounds;
  for (const std::string &dim : inputDims) {
    int64_t bound = boundOf(dim);
    checkTableRows(dim, bound);
    bounds.push_back(builder.getNamedAttr(dim, builder.getI64IntegerAttr(bound)));
  }
  (*module)->setAttr(mlir::xf::kBoundsAttr, builder.getDictionaryAttr(bounds));
  sizeOpenTables();
}

void Evaluator::checkLimits(const std::set<std::string> &inputDims) {
  for (auto &[name, value] : options.limits) {
    bool isRole = name == "batch" || name == "beam" || (name == "source" && !sourceDim.empty()) || (name == "target" && !targetDim.empty());
    if (!inputDims.count(name) && !isRole)
      error({}, "--limit " + name + ": the model has no dimension '" + name + "'");
    else if (value < 1 || value > INT32_MAX)
      error({}, fmt::format("--limit {}={}: a limit must be between 1 and {}", name, value, INT32_MAX));
  }
}

/// A position table that the dimension indexes must have rows enough.
void Evaluator::checkTableRows(llvm::StringRef dim, int64_t bound) {
  auto it = dims.find(dim.str());
  if (it == dims.end() || !it->second.table || bound <= *it->second.table)
    return;
  const DimInfo &info = it->second;
  error(info.declared == bound ? info.loc : Loc{},
        fmt::format("'{}' may be up to {}, but the position table has {} rows for it", dim.str(), bound, *info.table));
  note(info.tableLoc, "the table is declared here");
}

/// Tables without a declared length get the rows that their uses need.
void Evaluator::sizeOpenTables() {
  for (auto &[key, table] : tables) {
    if (table->uses.empty())
      continue;
    int64_t rows = 1;
    for (auto &[dim, offset] : table->uses)
      rows = std::max(rows, (dim.isDynamic() ? boundOf(dim.name) : dim.size) + offset);
    auto type = mlir::xf::withDim(table->type, 0, rows, "");
    if (static_cast<double>(rows) * static_cast<double>(type.getNumElements() / rows) > TableUse::kMostElements) {
      error(table->loc, fmt::format("the table would have {} rows", rows));
      continue;
    }
    llvm::cast<mlir::xf::ParameterOp>(table->op).setType(type);
    module->walk([&](mlir::xf::ParamOp op) {
      if (op.getName() == table->symbol)
        op.getResult().setType(type);
    });
  }
}
