// What a kernel reads, in which order its views come, and how they lie in memory: the same for every target, as a plan is.
#ifndef XF_COMPILER_TARGET_KERNELOPERANDS_H
#define XF_COMPILER_TARGET_KERNELOPERANDS_H

#include "compiler/Target/Isa.h"
#include "dialect/IR/Xf.h"

#include <optional>

namespace xf::codegen {

/// A tensor that a kernel reads. Some come with others, which stand behind them in the list: a value loaded from a per-sentence
/// state with the slots of its rows (the kernel then reads row slots[b] where the op says b), a state that attention appends to
/// with what is appended and the rows' past lengths.
struct KernelOperand {
  mlir::Value value;
  bool isCompanion = false;
};

/// The tensors that kernel op `op` reads: its tensor operands in order, then tensors that its regions capture in
/// order of first use, each with what it comes with. Duplicates of captured values are listed once.
llvm::SmallVector<KernelOperand> kernelOperands(mlir::Operation *op);
/// What makes `value`, if that is an xf.append that leaves a single position to its reader `op`; else null.
mlir::xf::AppendOp appendedBy(mlir::Operation *op, mlir::Value value);

/// What is known when compiling about how a kernel's views lie in memory.
struct KernelAccess {
  llvm::SmallVector<int64_t> lastStride; // of each view, of its last dimension: 1, another constant, or ShapedType::kDynamic. Packed layouts have 1
  bool weightsStream = false; // whether products find no weights in the caches, as other products read more than these hold in between
};

/// What an emitter of a kernel knows besides the op itself.
struct KernelRequest {
  const KernelAccess &access;
  /// The tensors that views 0, 1, … stand for; the result's views follow.
  llvm::ArrayRef<KernelOperand> operands;
  /// The module with the dimensions' bounds and the states.
  mlir::ModuleOp root;

  /// The view of `value`.
  unsigned viewOf(mlir::Value value) const;
  /// The view with the slots of `value`'s rows, if it was loaded from a per-sentence state.
  std::optional<unsigned> slotsOf(mlir::Value value) const;
  /// The views of what `value`, a state that is appended to by its reader, comes with.
  unsigned appendedOf(mlir::Value value) const { return viewOf(value) + 1; }
  unsigned pastOf(mlir::Value value) const { return viewOf(value) + 2; }
  /// The first view behind the operands'.
  unsigned resultView() const { return operands.size(); }
};

} // namespace xf::codegen

#endif // XF_COMPILER_TARGET_KERNELOPERANDS_H
