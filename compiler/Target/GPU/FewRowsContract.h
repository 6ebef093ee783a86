// The kernel of xf.contract in f32 for few rows.
#ifndef XF_COMPILER_TARGET_GPU_FEWROWSCONTRACT_H
#define XF_COMPILER_TARGET_GPU_FEWROWSCONTRACT_H

#include "compiler/Target/GPU/Prologue.h"

namespace xf::gpu {

/// The most rows for which a product of any type with so many columns uses its kernel for few. Those for many have larger blocks: with few
/// columns these would be too few for a GPU's processors (132 of an H100), and each takes long.
inline int64_t maxFewRows(int64_t columns) { return columns <= 1024 ? 64 : 16; }
/// Rows and threads of a block, whose columns are a panel's.
inline constexpr int64_t kFewRowsTile = 4, kFewRowsThreads = 64;
/// With a prologue x is not in memory.
void emitFewRows(GpuBuilder b, mlir::xf::ContractOp op, const KernelRequest &request, const Prologue *prologue = nullptr);

} // namespace xf::gpu

#endif // XF_COMPILER_TARGET_GPU_FEWROWSCONTRACT_H
