// Where kernel results live: one workspace, places reused when their values are dead.
#ifndef XF_COMPILER_CONVERSION_XFTOLLVM_MEMORYPLAN_H
#define XF_COMPILER_CONVERSION_XFTOLLVM_MEMORYPLAN_H

#include "dialect/IR/Xf.h"

#include "llvm/ADT/MapVector.h"

namespace xf {

/// A range of the workspace, in bytes.
struct Slot {
  int64_t offset = 0, size = 0;
};

/// The workspace of one entry. Sizes are those at the dimensions' bounds, so offsets are constants; memory is
/// touched as far as it is used. The maps are in the order of the ops: what is planned may not depend on addresses.
struct MemoryPlan {
  llvm::MapVector<mlir::Value, Slot> slots;
  /// For each carried value of a stack of layers: two places that its layers write in turn.
  llvm::MapVector<mlir::Operation *, llvm::SmallVector<std::pair<Slot, Slot>>> carried;
  int64_t bytes = 0;
};

/// Plans `entry`, whose views are materialised (xf-materialize-views).
MemoryPlan planMemory(mlir::xf::EntryOp entry);

/// Bytes of one element in memory; an i1 is a byte.
int64_t elementBytes(mlir::Type element);

} // namespace xf

#endif // XF_COMPILER_CONVERSION_XFTOLLVM_MEMORYPLAN_H
