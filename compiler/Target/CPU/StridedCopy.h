// Copies of strided tensors: pack plain, concat, and what is appended to or stored in a plain state.
#ifndef XF_COMPILER_TARGET_CPU_STRIDEDCOPY_H
#define XF_COMPILER_TARGET_CPU_STRIDEDCOPY_H

#include "compiler/Target/CPU/KernelEmitters.h"

namespace xf::cpu {

/// A tensor in memory, and how an index becomes a place in it.
struct Place {
  unsigned view;
  int64_t lastStride;
  /// i32 view: row b is row rows[b].
  std::optional<unsigned> rows = std::nullopt;
  /// Added to the index in dimension `axis`: a number, and the i32 view `past`'s element of row b.
  int64_t axis = 0;
  mlir::Value offset = nullptr;
  std::optional<unsigned> past = std::nullopt;
  /// i32 view [B, 2]: where each sentence begins in a row of all, and its length.
  std::optional<unsigned> spans = std::nullopt;

  /// The address of the element with these indices, one a dimension.
  mlir::Value address(KernelBuilder &b, llvm::ArrayRef<mlir::Value> indices, mlir::Type element) const;
  /// The stride of the last of `rank` dimensions.
  mlir::Value elementStride(KernelBuilder &b, int64_t rank) const;
};

/// First position and length of sentence `index`, of the i32 view `view`.
std::pair<mlir::Value, mlir::Value> loadSpan(KernelBuilder &b, unsigned view, mlir::Value index);
/// Element `index` of the rank-1 i32 view `view`.
mlir::Value loadIndex(KernelBuilder &b, unsigned view, mlir::Value index);

/// Copies a tensor of `type`, with the sizes of the source's view: this thread's share of the rows.
void copyTensor(KernelBuilder &b, mlir::RankedTensorType type, const Place &from, const Place &to);

} // namespace xf::cpu

#endif // XF_COMPILER_TARGET_CPU_STRIDEDCOPY_H
