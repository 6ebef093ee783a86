// The kernel of xf.contract in f32 for few rows.
#ifndef XF_COMPILER_TARGET_GPU_FEWROWSCONTRACT_H
#define XF_COMPILER_TARGET_GPU_FEWROWSCONTRACT_H

#include "compiler/Target/GPU/Prologue.h"

namespace xf::gpu {

/// Rows and threads of a block, whose columns are a panel's.
inline constexpr int64_t kFewRowsTile = 4, kFewRowsThreads = 64;
/// With a prologue x is not in memory.
void emitFewRows(GpuBuilder b, mlir::xf::ContractOp op, const KernelRequest &request, const Prologue *prologue = nullptr);

} // namespace xf::gpu

#endif // XF_COMPILER_TARGET_GPU_FEWROWSCONTRACT_H
