// Verifiers of the kernel ops, and the generated definitions of all ops.
#include "dialect/IR/Verify.h"
#include "dialect/IR/Xf.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace mlir::xf;

static RankedTensorType typeOf(Value v) { return cast<RankedTensorType>(v.getType()); }

LogicalResult ContractOp::verify() {
  if (failed(verifyProduct(*this, typeOf(getX()), typeOf(getWeight()), typeOf(getResult()))) ||
      failed(verifyIndexMaps(*this, getExtras(), getMaps(), typeOf(getResult()))))
    return failure();
  SmallVector<Type> args{productElement(typeOf(getX()).getElementType())};
  llvm::append_range(args, elementTypes(getExtras().getTypes()));
  return verifyScalarBody(*this, getBody(), args, elementTypes(getResult().getType()));
}

/// The type of one row of `type` for a row op whose rows have the dimension `last`.
static RankedTensorType rowType(RankedTensorType type, bool whole) {
  int64_t size = whole ? type.getShape().back() : 1;
  return makeTensor({size}, {whole ? getDimName(type, type.getRank() - 1) : StringRef()}, type.getElementType());
}

LogicalResult RowOp::verify() {
  // The widest result gives the rows' length; a result of width 1 is a statistic of its row.
  auto shape = typeOf(getResult(0));
  unsigned last = shape.getRank() - 1;
  for (Value result : getResults())
    if (typeOf(result).getRank() == shape.getRank() && typeOf(result).getShape().back() != 1)
      shape = typeOf(result);
  SmallVector<Type> args, results;
  for (auto [i, input] : llvm::enumerate(getInputs())) {
    auto type = typeOf(input);
    if (i >= getMaps().size() || static_cast<int64_t>(getMap(i).size()) != type.getRank())
      return emitOpError("map ") << i << " has another rank than its operand " << describeShape(type);
    for (auto [d, target] : llvm::enumerate(getMap(i))) {
      if (target < -1 || target > last)
        return emitOpError("map ") << i << " refers to dimension " << target << " of " << describeShape(shape);
      // Rows may be longer than a result that keeps a statistic only.
      if (target == -1 ? type.getDimSize(d) != 1 : target != last && !sameDim(type, d, shape, target))
        return emitOpError("operand ") << i << " of shape " << describeShape(type) << " does not fit " << describeShape(shape);
    }
    args.push_back(rowType(type, !getMap(i).empty() && getMap(i).back() == last));
  }
  for (Value result : getResults()) {
    auto type = typeOf(result);
    if (type.getRank() != shape.getRank())
      return emitOpError("results need one rank");
    for (unsigned d = 0; d < last; ++d)
      if (!sameDim(type, d, shape, d))
        return emitOpError("results ") << describeShape(type) << " and " << describeShape(shape) << " differ in their rows";
    results.push_back(rowType(type, true));
  }
  return verifyScalarBody(*this, getBody(), args, results);
}

#define GET_OP_CLASSES
#include "dialect/IR/XfOps.cpp.inc"
