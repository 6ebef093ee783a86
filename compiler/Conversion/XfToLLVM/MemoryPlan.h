// Where kernel results live: one workspace, places reused when their values are dead.
#ifndef XF_COMPILER_CONVERSION_XFTOLLVM_MEMORYPLAN_H
#define XF_COMPILER_CONVERSION_XFTOLLVM_MEMORYPLAN_H

#include "compiler/Conversion/XfToLLVM/Prologues.h"
#include "compiler/Transforms/Layouts.h"

#include "llvm/ADT/MapVector.h"

namespace xf {

/// A range of the workspace. It begins where the last of those that it must lie above ends, so that a call's ranges lie close to
/// each other whatever its sizes are.
struct Slot {
  Monomial bytes;
  llvm::SmallVector<unsigned> below; // numbers of slots
};
inline constexpr int64_t kSlotAlignment = 64;

/// The workspace of one entry: which of two slots that are needed at the same time lies above the other is planned for the
/// dimensions' bounds. The maps are in the order of the ops: what is planned may not depend on addresses.
struct MemoryPlan {
  /// Each behind those that are below it.
  std::vector<Slot> slots;
  llvm::MapVector<mlir::Value, unsigned> values;
  /// For each carried value of a stack of layers: two slots that its layers write in turn.
  llvm::MapVector<mlir::Operation *, llvm::SmallVector<std::pair<unsigned, unsigned>>> carried;
  /// That all slots take at the bounds; with smaller sizes they take less.
  int64_t bytes = 0;
};

/// Plans `entry`, whose views are materialised (xf-materialize-views). Of the pairs, which may be computed at once, what the row op reads lies
/// apart from what the product writes.
MemoryPlan planMemory(mlir::xf::EntryOp entry, llvm::ArrayRef<ProloguePair> pairs = {});

/// Bytes of one element in memory; an i1 is a byte.
int64_t elementBytes(mlir::Type element);

} // namespace xf

#endif // XF_COMPILER_CONVERSION_XFTOLLVM_MEMORYPLAN_H
