// What values are computed from.
#ifndef XF_DIALECT_IR_PRODUCERS_H
#define XF_DIALECT_IR_PRODUCERS_H

#include "dialect/IR/Xf.h"

#include "llvm/ADT/SetVector.h"

namespace mlir::xf {

/// What `op` reads, each value once: its operands, then what its regions take from outside.
llvm::SetVector<Value> valuesRead(Operation *op);

/// Whether `visit` holds for `root`, for all values that it adds to `next`, and so on; the first that it does not hold for ends the walk.
/// Each value is visited once: an expression that shares parts has exponentially many paths to them.
bool holdsForAll(Value root, llvm::function_ref<bool(Value value, llvm::SetVector<Value> &next)> visit);

/// Whether an expression of parameters may contain this kind of op.
bool isParameterMaths(Operation *op);

/// Whether `value` is computed from parameters (and layer indices) only.
bool dependsOnParametersOnly(Value value);

} // namespace mlir::xf

#endif // XF_DIALECT_IR_PRODUCERS_H
