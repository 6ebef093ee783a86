// Where kernel results live: one workspace, whose memory is reused when values are dead.
#ifndef XF_COMPILER_CONVERSION_XFTOLLVM_MEMORYPLAN_H
#define XF_COMPILER_CONVERSION_XFTOLLVM_MEMORYPLAN_H

#include "compiler/Conversion/XfToLLVM/Prologues.h"
#include "compiler/Transforms/Layouts.h"

#include "llvm/ADT/MapVector.h"

namespace xf {

/// A range of the workspace. It begins at the end of the last range that must lie below it, so that a call's ranges lie close to
/// each other whatever its sizes are.
struct Slot {
  Monomial bytes;
  llvm::SmallVector<unsigned> below; // indices of slots
};
inline constexpr int64_t kSlotAlignment = 64;

/// The workspace of one entry: which of two slots that are needed at the same time lies above the other is planned for the
/// dimensions' bounds. The maps are in the order of the ops: what is planned may not depend on addresses.
struct MemoryPlan {
  /// Each after those that are below it.
  std::vector<Slot> slots;
  llvm::MapVector<mlir::Value, unsigned> values;
  /// For each carried value of a stack of layers: two slots that its layers write in turn.
  llvm::MapVector<mlir::Operation *, llvm::SmallVector<std::pair<unsigned, unsigned>>> carried;
  /// The size of all slots at the bounds; smaller dimensions take less.
  int64_t bytes = 0;
};

/// Plans `entry`, whose views are materialised (xf-materialize-views). In each of `pairs`, which may be computed at once, what the product
/// writes does not overlap what the row op reads.
MemoryPlan planMemory(mlir::xf::EntryOp entry, llvm::ArrayRef<ProloguePair> pairs = {});

/// Bytes of one element in memory; an i1 is a byte.
int64_t elementBytes(mlir::Type element);

} // namespace xf

#endif // XF_COMPILER_CONVERSION_XFTOLLVM_MEMORYPLAN_H
