// How values lie in memory: strides as monomials of dimensions.
//
// Kernel results are dense unless a layout says otherwise; rearranges and slices are views of them.
#ifndef XF_COMPILER_TRANSFORMS_LAYOUTS_H
#define XF_COMPILER_TRANSFORMS_LAYOUTS_H

#include "dialect/IR/Xf.h"

namespace xf {

/// A dimension's size in a call, or the states' capacity for it, rounded up to a multiple.
struct Extent {
  llvm::StringRef dim;
  int64_t multiple = 1; // a power of two
  bool isCapacity = false;

  bool operator==(const Extent &) const = default;
  bool operator<(const Extent &other) const { return std::tie(dim, multiple, isCapacity) < std::tie(other.dim, other.multiple, other.isCapacity); }
};

/// coefficient * product of extents, which are sorted.
struct Monomial {
  int64_t coefficient = 1;
  llvm::SmallVector<Extent, 2> extents = {};

  bool isConstant() const { return extents.empty() || coefficient == 0; }
  bool operator==(const Monomial &) const = default;
  Monomial operator*(const Monomial &other) const;
  /// Its value at the dimensions' bounds.
  int64_t upperBound(mlir::ModuleOp module) const;
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

/// Dense row-major strides.
llvm::SmallVector<Monomial> denseStrides(mlir::RankedTensorType type);
/// The capacity of a state's tensor along dimension i, and the same with the padding of its layout.
Monomial stateSize(mlir::xf::StateOp state, unsigned i);
Monomial paddedStateSize(mlir::xf::StateOp state, unsigned i);
/// Strides of a state's tensor, which follow its capacities, not the sizes in a call. In the packed orders the stride of the positions
/// is the number of elements that each of them takes.
llvm::SmallVector<Monomial> stateStrides(mlir::xf::StateOp state);

/// Elements that a tensor of `type` takes in `layout`.
Monomial elementsOf(mlir::RankedTensorType type, mlir::xf::Layout layout);
/// The same for `value`, which is a root: kernel results may have padding after their rows.
Monomial rootElements(mlir::Value value, mlir::ModuleOp module);

/// The single stride of all dimensions but the last, if they collapse to one and the last has stride 1.
std::optional<Monomial> collapseRows(mlir::RankedTensorType type, const View &view);
/// Whether `value` has such a stride.
bool hasRowStride(mlir::Value value, mlir::ModuleOp module);

/// Whether an op in `block` writes `value` into a dense buffer of its own, as a block's results need.
bool isOwnBuffer(mlir::Value value, mlir::Block *block, mlir::ModuleOp module);
/// Whether a stack in `block` can carry `init`: a value of its own buffer, or an entry's argument.
bool canBeCarried(mlir::Value init, mlir::Block *block, mlir::ModuleOp module);

} // namespace xf

#endif // XF_COMPILER_TRANSFORMS_LAYOUTS_H
