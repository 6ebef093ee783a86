// The kernel of xf.contract in f32 for few rows.
#ifndef XF_COMPILER_TARGET_GPU_FEWROWSCONTRACT_H
#define XF_COMPILER_TARGET_GPU_FEWROWSCONTRACT_H

#include "compiler/Target/GPU/KernelEmitters.h"

namespace xf::gpu {

/// Rows and threads of a block, whose columns are a panel's.
inline constexpr int64_t kFewRowsTile = 4, kFewRowsThreads = 64;
void emitFewRows(GpuBuilder b, mlir::xf::ContractOp op, const KernelRequest &request);

} // namespace xf::gpu

#endif // XF_COMPILER_TARGET_GPU_FEWROWSCONTRACT_H
