// Checks that several ops share, of regions, axes, scans and spans.
#include "dialect/IR/Verify.h"

using namespace mlir;
using namespace mlir::xf;

LogicalResult mlir::xf::verifyBody(Operation *op, Region &body, TypeRange args, TypeRange results) {
  if (!body.hasOneBlock() || body.front().empty())
    return op->emitOpError("its region needs one block that yields");
  if (body.getArgumentTypes() != args)
    return op->emitOpError("its region must take the operands' elements: ") << args;
  auto yield = dyn_cast<YieldOp>(body.front().back());
  if (!yield || yield.getOperandTypes() != results)
    return op->emitOpError("its region must yield the results' elements: ") << results;
  return success();
}

LogicalResult mlir::xf::verifyScalarOps(Block &block) {
  for (Operation &op : block) {
    StringRef dialect = op.getName().getDialectNamespace();
    bool isAt = isa<AtOp>(op), isYield = &op == &block.back();
    if (!isYield && ((dialect != "arith" && dialect != "math" && !isAt) || op.getNumRegions() != 0))
      return op.emitOpError("cannot stand in a region that computes on numbers");
    for (Type type : op.getResultTypes())
      if (op.getNumResults() != 1 || !type.isIntOrIndexOrFloat() || (type.isIntOrFloat() && type.getIntOrFloatBitWidth() > 64))
        return op.emitOpError("must give one number of at most 64 bits");
    for (Value value : isAt ? cast<AtOp>(op).getIndices() : ValueRange(op.getOperands())) {
      Operation *source = value.getDefiningOp();
      bool isConstant = source && source->hasTrait<OpTrait::ConstantLike>();
      if (value.getParentBlock() != &block && !isConstant && !value.getType().isIndex())
        return op.emitOpError("takes a ") << value.getType() << " from outside of its region";
    }
  }
  return success();
}

LogicalResult mlir::xf::verifyScalarBody(Operation *op, Region &body, TypeRange args, TypeRange results) {
  return failed(verifyBody(op, body, args, results)) ? failure() : verifyScalarOps(body.front());
}

LogicalResult mlir::xf::verifyAxis(Operation *op, int64_t axis, RankedTensorType type) {
  if (axis >= 0 && axis < type.getRank())
    return success();
  return op->emitOpError("axis ") << axis << " is out of range for " << describeShape(type);
}

LogicalResult mlir::xf::verifyScanBody(Operation *op, Region &body, ValueRange inputs, int64_t axis, size_t states) {
  if (op->getNumResults() == 0)
    return op->emitOpError("needs results");
  SmallVector<Type> types(op->getResultTypes());
  llvm::append_range(types, inputs.getTypes());
  if (failed(verifySameShapes(op, types)) || failed(verifyAxis(op, axis, cast<RankedTensorType>(types.front()))))
    return failure();
  SmallVector<Type> args(states, Float32Type::get(op->getContext())), results(args);
  llvm::append_range(args, elementTypes(inputs.getTypes()));
  llvm::append_range(results, elementTypes(op->getResultTypes()));
  return verifyScalarBody(op, body, args, results);
}

LogicalResult mlir::xf::verifySpans(Operation *op, Value spans, RankedTensorType all, RankedTensorType rows, unsigned axis) {
  auto type = cast<RankedTensorType>(spans.getType());
  if (type.getRank() != 2 || !type.getElementType().isInteger(32) || type.getDimSize(1) != 2 || rows.getRank() == 0 || !sameDim(type, 0, rows, 0))
    return op->emitOpError("needs spans i32 [batch, 2] of the sentences of ") << describeShape(rows) << ", not " << type;
  bool isOne = all.getRank() == rows.getRank() && axis < all.getRank() && all.isDynamicDim(axis) && rows.isDynamicDim(axis) &&
               withDim(withDim(rows, 0, 1, ""), axis, ShapedType::kDynamic, getDimName(all, axis)) == all;
  if (!isOne)
    return op->emitOpError("needs ") << describeShape(rows) << " with its sentences behind each other along dimension " << axis << ", not "
                                     << describeShape(all);
  return success();
}
