// The GPU back end's interface: kernels from kernel ops, and PTX from modules of them.
//
// A kernel takes its views by value: sizeof(xf_abi_view) / 8 parameters of 8 bytes a view, so that an array of views is
// the very block of parameters that a launch takes. A launch's blocks are its tasks; how many there are follows from
// the views' sizes (Launch), which the runtime computes.
#ifndef XF_COMPILER_TARGET_GPU_GPUKERNELS_H
#define XF_COMPILER_TARGET_GPU_GPUKERNELS_H

#include "compiler/Target/KernelOperands.h"
#include "runtime/abi/xf_abi.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace xf::gpu {

/// ceil(size[dim] of view / divisor).
struct LaunchFactor {
  unsigned view, dim;
  int64_t divisor = 1;
};

/// One way to run a kernel: `constant * ceil(Π factors / divisor)` blocks of `threads` threads.
struct Launch {
  std::string function;
  int64_t threads;
  llvm::SmallVector<LaunchFactor> factors;
  int64_t divisor = 1, constant = 1;
  /// Taken only while that size is at most this much.
  struct Limit {
    unsigned view, dim;
    int64_t max;
  };
  std::optional<Limit> limit;
  unsigned stage = 0;
  /// Taken only while it has at most so many blocks; 0: always.
  int64_t maxBlocks = 0;
};

/// As the image says it, but for the function's name.
xf_abi_gpu_launch toAbi(const Launch &launch);

/// A kernel's launches, in the order of their stages: of each stage the first whose limits hold is taken.
struct Kernel {
  unsigned views = 0;
  llvm::SmallVector<Launch> launches;
};

/// Adds the functions of `op`'s kernel, NAME or NAME_something, to `module` (dialects gpu, llvm, scf, arith, math).
/// Operands, access and root are those of cpu::emitKernel.
mlir::FailureOr<Kernel> emitKernel(mlir::gpu::GPUModuleOp module, llvm::StringRef name, mlir::Operation *op, const codegen::KernelAccess &access,
                                   mlir::ModuleOp root);

/// Adds the function `name` that for few rows does the work of `row` and then of `product`, which multiplies result `result` of `row`: each block
/// computes the rows that it multiplies. Its views are those of `product`, then those of `row`. No launch where that is not possible. What `row`
/// reads must not overlap what either writes.
std::optional<Launch> emitWithPrologue(mlir::gpu::GPUModuleOp module, llvm::StringRef name, mlir::xf::ContractOp product,
                                       const codegen::KernelAccess &access, mlir::xf::RowOp row, const codegen::KernelAccess &rowAccess,
                                       unsigned result, mlir::ModuleOp root);

/// Adds the function `name` of a kernel that searches call besides the model's; xf_abi.h says what they do.
Kernel emitMoveRows(mlir::gpu::GPUModuleOp module, llvm::StringRef name);
Kernel emitAdvance(mlir::gpu::GPUModuleOp module, llvm::StringRef name);
Kernel emitApplyRules(mlir::gpu::GPUModuleOp module, llvm::StringRef name);
/// For `columns` logits; adds NAME_merge, too.
Kernel emitChooseLogits(mlir::gpu::GPUModuleOp module, llvm::StringRef name, int64_t columns, int64_t maxCandidates);
Kernel emitTakeLogits(mlir::gpu::GPUModuleOp module, llvm::StringRef name);
/// For `columns` logits.
Kernel emitDraw(mlir::gpu::GPUModuleOp module, llvm::StringRef name, int64_t columns);

/// A module that holds one empty gpu.module.
mlir::OwningOpRef<mlir::ModuleOp> makeKernelModule(mlir::MLIRContext *context);

/// The compute capability that PTX is made for, as 10 * major + minor. It runs on all later ones.
inline constexpr int kComputeCapability = 80;
/// Lowers a copy of `module` to PTX. On failure `error` says why.
mlir::FailureOr<std::string> emitPtx(mlir::ModuleOp module, std::string &error);
/// The rest of emitPtx(), which needs LLVM alone and may run beside other work.
using PtxWriter = std::function<mlir::FailureOr<std::string>(std::string &error)>;
mlir::FailureOr<PtxWriter> preparePtx(mlir::ModuleOp module, std::string &error);

} // namespace xf::gpu

#endif // XF_COMPILER_TARGET_GPU_GPUKERNELS_H
