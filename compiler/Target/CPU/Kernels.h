// The CPU back end's interface: kernels from kernel ops (Object.h: objects from modules of them).
//
// A kernel is an xf_abi_kernel_fn. `views` holds what kernelOperands() lists, then the op's results (for append and store: the layer's
// state). It does its thread's share of the work. The kernel of xf.contract has one more view: the weight that is multiplied next, to be
// prefetched; data is its first panel, size[0] the number of panels (0: none is known), stride[0] the bytes of one.
#ifndef XF_COMPILER_TARGET_CPU_KERNELS_H
#define XF_COMPILER_TARGET_CPU_KERNELS_H

#include "compiler/Target/KernelOperands.h"

namespace xf::cpu {

/// The instruction sets that have a kernel of their own for `op`: the general ones, and those made for its products and conversions.
llvm::SmallVector<Isa> kernelIsas(mlir::Operation *op);
/// Those of them that CPUs with `wanted` (ascending) use: of each the best that it has.
llvm::SmallVector<Isa> kernelIsas(mlir::Operation *op, llvm::ArrayRef<Isa> wanted);

/// Adds the kernel of `op` as function `name` to `module` (dialects llvm, scf, arith, math, vector). `root` is the
/// module that `op` lives in (bounds of dimensions, states).
mlir::LogicalResult emitKernel(mlir::ModuleOp module, llvm::StringRef name, mlir::Operation *op, const KernelAccess &access, Isa isa,
                               mlir::ModuleOp root);

/// Bytes of scratch that the kernel of `op` for `isa` needs for each thread, at the module's bounds.
int64_t kernelScratchBytes(mlir::Operation *op, Isa isa, mlir::ModuleOp root);

} // namespace xf::cpu

#endif // XF_COMPILER_TARGET_CPU_KERNELS_H
