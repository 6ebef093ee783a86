// Copies of strided tensors: pack plain, concat, and what is appended to or stored in a plain state.
#ifndef XF_COMPILER_TARGET_CPU_STRIDEDCOPY_H
#define XF_COMPILER_TARGET_CPU_STRIDEDCOPY_H

#include "compiler/Target/CPU/KernelEmitters.h"

namespace xf::cpu {

/// Neighbours in some dimension, `step` apart; `lastStride` is what is known of that (ShapedType::kDynamic: nothing).
struct Elements {
  mlir::Value start, step;
  int64_t lastStride;
};
/// Copies `count` of them.
void copyElements(CodeBuilder &b, mlir::Type element, const Elements &from, const Elements &to, mlir::Value count);

/// A tensor in memory, and how an index becomes an address in it.
struct TensorAccess {
  unsigned view;
  int64_t lastStride;
  /// i32 view: row b is row rows[b].
  std::optional<unsigned> rows = std::nullopt;
  /// Added to the index in dimension `axis`: a value, and the i32 view `past`'s element of row b.
  int64_t axis = 0;
  mlir::Value offset = nullptr;
  std::optional<unsigned> past = std::nullopt;
  /// i32 view [B, 2]: where each sentence begins in a row of all, and its length.
  std::optional<unsigned> spans = std::nullopt;

  /// The address of the element with these indices, one a dimension.
  mlir::Value address(KernelBuilder &b, llvm::ArrayRef<mlir::Value> indices, mlir::Type element) const;
  /// The elements from that one on in the last dimension.
  Elements elements(KernelBuilder &b, llvm::ArrayRef<mlir::Value> indices, mlir::Type element) const;
  /// The stride of the last of `rank` dimensions.
  mlir::Value elementStride(KernelBuilder &b, int64_t rank) const;
};

/// Copies a tensor of `type`, with the sizes of the source's view: this thread's share of the rows.
void copyTensor(KernelBuilder &b, mlir::RankedTensorType type, const TensorAccess &from, const TensorAccess &to);

} // namespace xf::cpu

#endif // XF_COMPILER_TARGET_CPU_STRIDEDCOPY_H
