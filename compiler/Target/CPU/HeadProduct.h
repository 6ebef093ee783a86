// Products of one row a head, for the steps of a decoder: several heads together, since one row's chain of
// multiply-adds alone would leave the processor waiting for each result.
#ifndef XF_COMPILER_TARGET_CPU_HEADPRODUCT_H
#define XF_COMPILER_TARGET_CPU_HEADPRODUCT_H

#include "compiler/Target/CPU/Tiles.h"
#include "compiler/Target/CodeBuilder.h"

namespace xf::cpu {

/// The most heads that are taken together.
inline constexpr int64_t kMaxHeads = 8;
/// How many of `heads` heads of `width` columns to take together, if `ratio` of them share keys and values.
int64_t headsTogether(Isa isa, int64_t heads, int64_t ratio, int64_t width);

/// C[h, n] = Σ_k A[h, k] * B[h / ratio][k, n] for `heads` heads, k ascending from 0. `depth` is in groups, strides are in elements.
struct HeadProduct {
  PanelKind kind; // f32 or bf16, without a tail
  int64_t heads, ratio;
  mlir::Value a;
  int64_t aStride;
  mlir::Value b, headStride;
  int64_t panelStride;
  mlir::Value c;
  int64_t cStride;
  mlir::Value depth, panels;
  mlir::Value ahead = {}; // bytes from each line that is read to one that is prefetched into the second-level cache; null: to none
};
void emitHeadProduct(CodeBuilder &b, const HeadProduct &product);

} // namespace xf::cpu

#endif // XF_COMPILER_TARGET_CPU_HEADPRODUCT_H
