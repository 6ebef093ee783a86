// Panels of bf16 made f32, for several blocks of rows to be multiplied by.
#ifndef XF_COMPILER_TARGET_CPU_WIDENEDPANELS_H
#define XF_COMPILER_TARGET_CPU_WIDENEDPANELS_H

#include "compiler/Target/CodeBuilder.h"

namespace xf::cpu {

/// Panels as they are, or a part of each: the first one, bytes from one to the next, and their numbers of groups (of two elements of k).
struct PairPanels {
  mlir::Value start, stride, count, groups;
};

/// Stores the panels at `target`, `targetStride` bytes apart: each group becomes two lines, that of the even k first.
void widenPanels(CodeBuilder &b, const PairPanels &panels, mlir::Value target, mlir::Value targetStride);

} // namespace xf::cpu

#endif // XF_COMPILER_TARGET_CPU_WIDENEDPANELS_H
