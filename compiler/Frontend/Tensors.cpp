// Look-ups of rows in weights and tables.
#include "compiler/Frontend/Evaluator.h"
#include "compiler/Frontend/Ranges.h"
#include "dialect/IR/Producers.h"

#include "llvm/Support/SaveAndRestore.h"
#include <fmt/format.h>

using namespace xf::frontend;

/// Whether these are tokens that an entry takes.
static bool isInput(mlir::Value ids) {
  while (ids.getDefiningOp<mlir::xf::RearrangeOp>() || ids.getDefiningOp<mlir::xf::SliceOp>())
    ids = ids.getDefiningOp()->getOperand(0);
  auto argument = llvm::dyn_cast<mlir::BlockArgument>(ids);
  return argument && llvm::isa_and_nonnull<mlir::xf::EntryOp>(argument.getOwner()->getParentOp());
}

Value Evaluator::embed(mlir::Value table, mlir::Value ids, Loc loc, bool limits) {
  auto tableType = typeOf(table), idsType = typeOf(ids);
  if (tableType.getRank() != 2 || !tableType.getElementType().isF32())
    return poison(loc, "a look-up needs a table [rows, width], not " + mlir::xf::describeShape(tableType));
  if (!mlir::xf::dependsOnParametersOnly(table))
    return poison(loc, "a look-up needs a table that is computed from parameters");
  if (!idsType.getElementType().isInteger(32))
    return poison(loc, "a look-up needs tokens or positions, not " + mlir::xf::describeShape(idsType) + " of numbers");
  int64_t rows = tableType.getDimSize(0);
  if (auto positions = ids.getDefiningOp<mlir::xf::PositionsOp>()) {
    int64_t offset = positions.getOffset();
    if (offset < 0)
      return poison(loc, fmt::format("a table has no rows for positions that begin at {}", offset));
    if (limits && idsType.isDynamicDim(0)) {
      // The sequence can be as long as the table.
      bounds.limitTo(mlir::xf::getDimName(idsType, 0), rows - offset, locOf(table));
    } else if (limits && idsType.getDimSize(0) > rows - offset) {
      return poison(loc, fmt::format("{} positions from {} on are looked up, but the table has {} rows", idsType.getDimSize(0), offset, rows));
    }
  } else if (!isInput(ids) && !isInBounds(ids, rows)) {
    // Calls check tokens that are inputs, but values that are computed from them may be anything.
    llvm::SaveAndRestore noScan(currentScan, static_cast<ScanBody *>(nullptr));
    Value clamped = binary("min", binary("max", Tensor{ids}, int64_t(0), loc), rows - 1, loc);
    if (isPoison(clamped))
      return clamped;
    ids = std::get<Tensor>(clamped).value;
  }
  std::vector<DimSize> shape = dimsOf(idsType);
  shape.push_back(dimOf(tableType, 1));
  return Tensor{mlir::xf::EmbedOp::create(builder, at(loc), tensorOf(shape, builder.getF32Type()), table, ids)};
}
