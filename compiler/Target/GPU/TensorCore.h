// The instructions of compute capability 8.0 that products of 16-bit factors are made of.
#ifndef XF_COMPILER_TARGET_GPU_TENSORCORE_H
#define XF_COMPILER_TARGET_GPU_TENSORCORE_H

#include "compiler/Target/GPU/GpuBuilder.h"

namespace xf::gpu {

/// mma.sync.m16n8k16: D[16, 8] = A[16, 16] B[16, 8] + C, factors bf16 or f16, sums f32. A matrix is spread over a warp; lane
/// 4 g + t (g < 8, t < 4) holds, in words of two factors with neighbouring k and the lower k in the lower half,
///   a: A[g, 2t], A[g + 8, 2t], A[g, 2t + 8], A[g + 8, 2t + 8]
///   x: B[2t, g], B[2t + 8, g]
///   sums: C[g, 2t], C[g, 2t + 1], C[g + 8, 2t], C[g + 8, 2t + 1]
/// All lanes of the warp must take part.
llvm::SmallVector<mlir::Value> multiplyTiles(GpuBuilder &b, mlir::Type factor, llvm::ArrayRef<mlir::Value> a, llvm::ArrayRef<mlir::Value> x,
                                             llvm::ArrayRef<mlir::Value> sums);

/// The bits of two 16-bit elements as a word.
mlir::Value joinPair(GpuBuilder &b, mlir::Value low, mlir::Value high);

/// Two f32 rounded to `type`, as such a word.
mlir::Value narrowPair(GpuBuilder &b, mlir::Type type, mlir::Value low, mlir::Value high);

/// `value` where the condition holds, else 0. Without a branch: all lanes of a warp must come to a multiplication together.
mlir::Value zeroUnless(GpuBuilder &b, mlir::Value condition, mlir::Value value);

/// ldmatrix: four matrices [8, 8] of 16-bit elements from shared memory. Lane 8 i + r gives the address of matrix i's row r,
/// a multiple of 16; lane 4 r + t gets of each matrix the word with elements 2t and 2t + 1 of row r.
llvm::SmallVector<mlir::Value> loadMatrices(GpuBuilder &b, mlir::Value address);

/// cp.async: starts to copy 16 bytes from global to shared memory, of which the first `bytes` (i32, 0 … 16; null: all) are
/// read and the others are zeros. Both addresses are multiples of 16.
void copyAsync(GpuBuilder &b, mlir::Value to, mlir::Value from, mlir::Value bytes = nullptr);
/// The same with all 16 bytes where the condition holds (null: it does), else with none.
void copyAsyncIf(GpuBuilder &b, mlir::Value condition, mlir::Value to, mlir::Value from);
/// The thread's copies since the last call become a group.
void commitCopies(GpuBuilder &b);
/// Waits until at most `open` of the thread's newest groups are under way. Other threads see them behind a barrier.
void awaitCopies(GpuBuilder &b, int64_t open);

} // namespace xf::gpu

#endif // XF_COMPILER_TARGET_GPU_TENSORCORE_H
