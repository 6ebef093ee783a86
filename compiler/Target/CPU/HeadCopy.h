// Keys and values in the order that attention reads.
//
// Keys lie as [T/16][d][16], 16 positions at once, and values as [T][e], rows of whole vectors. Of bf16 two elements share a
// word: keys' neighbouring columns, and values' neighbouring positions.
#ifndef XF_COMPILER_TARGET_CPU_HEADCOPY_H
#define XF_COMPILER_TARGET_CPU_HEADCOPY_H

#include "compiler/Target/CPU/StridedCopy.h"

namespace xf::cpu {

/// Copies a tensor [B, H, T, D] of `type` to keys or values, behind what is there if `to` has a past: this thread's share of the heads.
void copyHeads(KernelBuilder &b, mlir::RankedTensorType type, const TensorAccess &from, const TensorAccess &to, mlir::xf::Layout layout);

/// Appends the only new position of one head of a row.
void appendHead(KernelBuilder &b, mlir::RankedTensorType type, const TensorAccess &from, const TensorAccess &to, mlir::xf::Layout layout,
                mlir::Value row, mlir::Value head);

} // namespace xf::cpu

#endif // XF_COMPILER_TARGET_CPU_HEADCOPY_H
