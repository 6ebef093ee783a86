// Products with weights, and look-ups.
#include "compiler/Frontend/Evaluator.h"
#include "compiler/Frontend/Ranges.h"
#include "dialect/IR/Producers.h"

#include "llvm/Support/SaveAndRestore.h"
#include <fmt/format.h>

using namespace xf::frontend;

static constexpr llvm::StringLiteral kTransposed = "a b -> b a";

Value Evaluator::transpose(const Value &value, Loc loc) {
  mlir::Value x = asTensor(value, loc, "the value before '.T'");
  if (!x)
    return Poison{};
  if (typeOf(x).getRank() == 2)
    return tensors.rearrange(x, kTransposed.str(), {}, loc);
  error(loc, "'.T' needs a tensor of two dimensions, not " + mlir::xf::describeShape(typeOf(x)) + "; use rearrange");
  noteValue(x, "the shape");
  return Poison{};
}

Value Evaluator::matmul(const Value &left, const Value &right, Loc loc) {
  mlir::Value x = asTensor(left, loc, "the left side of '@'"), w = asTensor(right, loc, "the right side of '@'");
  if (!x || !w)
    return Poison{};
  if (!mlir::xf::dependsOnParametersOnly(w)) {
    error(loc, "the right side of '@' must be computed from parameters; products of activations are attend's");
    noteValue(w, "the right side of shape");
    return Poison{};
  }
  if (typeOf(w).getRank() != 2) {
    error(loc, "the right side of '@' must have two dimensions, not " + mlir::xf::describeShape(typeOf(w)));
    noteValue(w, "the shape");
    return Poison{};
  }
  // x @ W.T reads W as it is.
  if (auto turned = w.getDefiningOp<mlir::xf::RearrangeOp>(); turned && turned.getPattern() == kTransposed) {
    w = turned.getX();
    if (turned->use_empty())
      turned->erase();
  } else {
    Value turnedBack = tensors.rearrange(w, kTransposed.str(), {}, loc);
    if (isPoison(turnedBack))
      return turnedBack;
    w = std::get<Tensor>(turnedBack).value;
  }
  return tensors.linear(x, w, {}, loc);
}

/// Whether these are tokens that an entry takes.
static bool isInput(mlir::Value ids) {
  while (ids.getDefiningOp<mlir::xf::RearrangeOp>() || ids.getDefiningOp<mlir::xf::SliceOp>())
    ids = ids.getDefiningOp()->getOperand(0);
  auto argument = llvm::dyn_cast<mlir::BlockArgument>(ids);
  return argument && llvm::isa_and_nonnull<mlir::xf::EntryOp>(argument.getOwner()->getParentOp());
}

Value Evaluator::embed(mlir::Value table, mlir::Value ids, Loc loc, bool limits) {
  auto tt = typeOf(table), it = typeOf(ids);
  if (tt.getRank() != 2 || !tt.getElementType().isF32())
    return poison(loc, "a look-up needs a table [rows, width], not " + mlir::xf::describeShape(tt));
  if (!mlir::xf::dependsOnParametersOnly(table))
    return poison(loc, "a look-up needs a table that is computed from parameters");
  if (!it.getElementType().isInteger(32))
    return poison(loc, "a look-up needs tokens or positions, not " + mlir::xf::describeShape(it) + " of numbers");
  int64_t rows = tt.getDimSize(0);
  if (auto positions = ids.getDefiningOp<mlir::xf::PositionsOp>()) {
    int64_t offset = positions.getOffset();
    if (offset < 0)
      return poison(loc, fmt::format("a table has no rows for positions that begin at {}", offset));
    if (limits && it.isDynamicDim(0)) {
      // The sequence can be as long as the table.
      DimInfo &info = dims[mlir::xf::getDimName(it, 0).str()];
      if (!info.table || rows - offset < *info.table) {
        info.table = rows - offset;
        info.tableLoc = locOf(table);
      }
    } else if (limits && it.getDimSize(0) > rows - offset) {
      return poison(loc, fmt::format("{} positions from {} on are looked up, but the table has {} rows", it.getDimSize(0), offset, rows));
    }
  } else if (!isInput(ids) && !staysBelow(ids, rows)) {
    // Calls check their inputs, but what is computed from them may be anything.
    llvm::SaveAndRestore noScan(currentScan, static_cast<ScanState *>(nullptr));
    Value inside = binary("min", binary("max", Tensor{ids}, int64_t(0), loc), rows - 1, loc);
    if (isPoison(inside))
      return inside;
    ids = std::get<Tensor>(inside).value;
  }
  std::vector<DimSize> shape = dimsOf(it);
  shape.push_back(dimOf(tt, 1));
  return Tensor{mlir::xf::EmbedOp::create(builder, at(loc), tensorOf(shape, builder.getF32Type()), table, ids)};
}
