// How values lie in memory: strides as monomials of dimensions.
//
// Kernel results are dense unless a layout says otherwise; rearranges and slices are views of them.
#ifndef XF_COMPILER_TRANSFORMS_LAYOUTS_H
#define XF_COMPILER_TRANSFORMS_LAYOUTS_H

#include "dialect/IR/Xf.h"

namespace xf {

/// coefficient * product of dimensions (sorted by name).
struct Monomial {
  int64_t coefficient = 1;
  llvm::SmallVector<llvm::StringRef, 2> dims;

  bool isConstant() const { return dims.empty() || coefficient == 0; }
  bool operator==(const Monomial &other) const { return coefficient == other.coefficient && dims == other.dims; }
  Monomial operator*(const Monomial &other) const;
};

/// Size of dimension i of `type`.
Monomial sizeOf(mlir::RankedTensorType type, unsigned i);

/// Where a value's elements are: root buffer, offset and a stride a dimension, in elements.
struct View {
  mlir::Value root;
  mlir::xf::Layout packing = mlir::xf::Layout::plain;
  llvm::SmallVector<Monomial> strides;
  llvm::SmallVector<Monomial> offset; // a sum
};

/// The view of `value`; nullopt if a rearrange merges dimensions that are not adjacent in memory. `module` has the
/// states and bounds.
std::optional<View> viewOf(mlir::Value value, mlir::ModuleOp module);

/// Strides of the packed orders keys and values for a tensor of `type` at its bounds. That of positions is the number of elements
/// that each of them takes.
llvm::SmallVector<Monomial> packedStrides(mlir::RankedTensorType type, mlir::xf::Layout layout, mlir::ModuleOp module);
/// Dense row-major strides.
llvm::SmallVector<Monomial> denseStrides(mlir::RankedTensorType type);
/// Largest number of elements that a root of `type` takes in `layout`.
int64_t maxElements(mlir::RankedTensorType type, mlir::xf::Layout layout, mlir::ModuleOp module);

/// The same for the root that `value` is: kernel results may have room behind their rows.
int64_t rootElements(mlir::Value value, mlir::ModuleOp module);

/// Whether all dimensions but the last are one with a single stride, and the last has stride 1. Gives that stride.
std::optional<Monomial> collapseRows(mlir::RankedTensorType type, const View &view);

} // namespace xf

#endif // XF_COMPILER_TRANSFORMS_LAYOUTS_H
