#include "dialect/IR/Producers.h"

#include "mlir/Transforms/RegionUtils.h"

namespace mlir::xf {

llvm::SetVector<Value> valuesRead(Operation *op) {
  llvm::SetVector<Value> read(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), read);
  return read;
}

bool holdsForAll(Value root, llvm::function_ref<bool(Value, llvm::SetVector<Value> &)> visit) {
  llvm::SetVector<Value> values;
  values.insert(root);
  for (size_t i = 0; i < values.size(); ++i)
    if (!visit(values[i], values))
      return false;
  return true;
}

bool isParameterMaths(Operation *op) { return isa<RearrangeOp, SliceOp, ConcatOp, EmbedOp, MapOp, ReduceOp, QuantizeOp, LinearOp>(op); }

bool dependsOnParametersOnly(Value value) {
  return holdsForAll(value, [](Value part, llvm::SetVector<Value> &next) {
    Operation *op = part.getDefiningOp();
    if (isa_and_nonnull<ParamOp>(op))
      return true;
    // What is repeated for each sentence is not known when compiling.
    auto type = dyn_cast<RankedTensorType>(part.getType());
    if (!op || !type || !type.hasStaticShape() || !isParameterMaths(op) || op->getNumOperands() == 0)
      return false;
    next.insert(op->operand_begin(), op->operand_end());
    return true;
  });
}

} // namespace mlir::xf
