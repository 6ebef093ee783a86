// Weights of bytes that multiply rows of f32: in panels [N/16][K/4][16][4], so that a word is four k of a column. They become f32 in
// registers, and their products are summed as those of f32 weights are; the epilogue applies their scales.
#ifndef XF_COMPILER_TARGET_GPU_BYTEWEIGHTS_H
#define XF_COMPILER_TARGET_GPU_BYTEWEIGHTS_H

#include "compiler/Target/GPU/GpuBuilder.h"

namespace xf::gpu {

/// The k of a word.
inline constexpr int64_t kWordDepth = 4;
/// The four signed bytes of a word as f32, lowest first.
llvm::SmallVector<mlir::Value> widenBytes(GpuBuilder &b, mlir::Value word);

} // namespace xf::gpu

#endif // XF_COMPILER_TARGET_GPU_BYTEWEIGHTS_H
