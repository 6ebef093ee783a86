// Who in an entry makes what a kernel reads, who reads what it makes, and which member of the model that belongs to.
#ifndef XF_COMPILER_EXPLAIN_MEMBERS_H
#define XF_COMPILER_EXPLAIN_MEMBERS_H

#include "dialect/IR/Xf.h"

#include "llvm/ADT/SetVector.h"

#include <string>

namespace xf {

/// The kernel op that computes what a value shows, behind rearrangements and copies; null if that is none.
mlir::Operation *producerOf(mlir::Value value);
/// The ops of the value's block that read it, behind the same.
void collectUsers(mlir::Value value, llvm::SetVector<mlir::Operation *> &users);

/// The paths of the members whose parameters `value` is made of, if it is one; of no members where the model reads none.
llvm::SmallVector<llvm::StringRef> membersOf(mlir::Value value, mlir::ModuleOp module);

/// The path of the member whose weights a kernel reads, "encoder.layers.self_attn", or of the one around several; where it reads none, that of the
/// member around its neighbours. Empty if there is none.
std::string memberOf(mlir::Operation *kernelOp, mlir::ModuleOp module);

} // namespace xf

#endif // XF_COMPILER_EXPLAIN_MEMBERS_H
