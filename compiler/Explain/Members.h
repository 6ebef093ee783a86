// The producers of a kernel's operands, the users of its results, and the member of the model that it belongs to.
#ifndef XF_COMPILER_EXPLAIN_MEMBERS_H
#define XF_COMPILER_EXPLAIN_MEMBERS_H

#include "dialect/IR/Xf.h"

#include "llvm/ADT/SetVector.h"

#include <string>

namespace xf {

/// The kernel op that computes a value, seen through rearrangements and copies; null if there is none.
mlir::Operation *producerOf(mlir::Value value);
/// The ops of the value's block that read it, seen through the same.
void collectUsers(mlir::Value value, llvm::SetVector<mlir::Operation *> &users);

/// The paths of the members whose parameters `value`, a parameter or weight, is made of; none for other values, and for tables without a path.
llvm::SmallVector<llvm::StringRef> membersOf(mlir::Value value, mlir::ModuleOp module);

/// The path of the member whose weights a kernel reads, "encoder.layers.self_attn", or of the one around several; where it reads none, that of the
/// member around its neighbours. Empty if there is none.
std::string memberOf(mlir::Operation *kernelOp, mlir::ModuleOp module);

} // namespace xf

#endif // XF_COMPILER_EXPLAIN_MEMBERS_H
