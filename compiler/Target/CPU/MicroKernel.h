// What micro-kernels have in common, whatever they multiply.
#ifndef XF_COMPILER_TARGET_CPU_MICROKERNEL_H
#define XF_COMPILER_TARGET_CPU_MICROKERNEL_H

#include "compiler/Target/CPU/CodeBuilder.h"

namespace xf::cpu {

/// Rows from which the arithmetic takes long enough to hide memory behind it. With fewer, the processor's own
/// prefetching keeps memory busy, and there is nothing to gain.
inline constexpr int64_t kPrefetchingRows = 4;

/// Asks for the lines that belong to position k of what is multiplied next, a line for each panel; nothing where the tile
/// has too few rows. `aheadStep` is in words of four bytes.
void fetchAhead(CodeBuilder &b, int64_t rows, int64_t panels, mlir::Value k, mlir::Value ahead, mlir::Value aheadStep);

/// The micro-kernel `name` with the arguments that getMicroKernel documents, its body written by `emit`; defined in `module` on
/// first use.
mlir::LLVM::LLVMFuncOp defineMicroKernel(mlir::ModuleOp module, const std::string &name, Isa isa,
                                         llvm::function_ref<void(CodeBuilder &)> emit);

/// getGroupedMicroKernel for i8_weights.
mlir::LLVM::LLVMFuncOp getByteWeightMicroKernel(mlir::ModuleOp module, Isa isa, int64_t tail, int64_t rows, int64_t panels);

} // namespace xf::cpu

#endif // XF_COMPILER_TARGET_CPU_MICROKERNEL_H
