// Operations on whole tensors, checked: products with weights, rearrangements, slices.
#ifndef XF_COMPILER_FRONTEND_TENSORCODE_H
#define XF_COMPILER_FRONTEND_TENSORCODE_H

#include "compiler/Frontend/Messages.h"

#include "mlir/IR/Builders.h"

namespace xf::frontend {

/// Writes operations at the builder's insertion point. Shapes that do not fit are reported, with where they come from, and give Poison.
class TensorCode {
public:
  TensorCode(mlir::OpBuilder &builder, Messages &messages) : builder(builder), messages(messages) {}

  /// x [.., k] times weight [n, k], transposed, plus bias [n] if there is one: [.., n].
  Value linear(mlir::Value x, mlir::Value weight, mlir::Value bias, Loc loc);
  /// x @ weight, whose right side is [k, n].
  Value product(mlir::Value x, mlir::Value weight, Loc loc);
  /// x.T, of two dimensions.
  Value transpose(mlir::Value x, Loc loc);
  Value rearrange(mlir::Value x, const std::string &pattern, llvm::ArrayRef<std::pair<std::string, int64_t>> sizes, Loc loc);
  /// The vector first, first + 1, ….
  Value positions(const DimSize &dim, int64_t first, Loc loc);
  /// `size` elements of dimension `axis`: start, start + step, …. The dimension must have them.
  Value slice(mlir::Value x, unsigned axis, int64_t start, int64_t size, int64_t step, Loc loc);
  /// A negative axis counts from the end.
  Value concat(llvm::ArrayRef<mlir::Value> inputs, int64_t axis, Loc loc);
  /// `x`, whose dimension `axis` has size 1, repeated along it.
  mlir::Value expand(mlir::Value x, unsigned axis, const DimSize &dim, Loc loc);
  /// A tensor of that type, all of whose elements are `value`.
  mlir::Value fill(mlir::RankedTensorType type, mlir::TypedAttr value, Loc loc);
  /// The common shape of operands, aligned at their last dimensions as in NumPy.
  std::optional<std::vector<DimSize>> broadcast(llvm::ArrayRef<mlir::Value> values, Loc loc);

private:
  mlir::OpBuilder &builder;
  Messages &messages;
};

} // namespace xf::frontend

#endif // XF_COMPILER_FRONTEND_TENSORCODE_H
