// The least that a kernel has to do, from its op alone.
#ifndef XF_COMPILER_EXPLAIN_COSTS_H
#define XF_COMPILER_EXPLAIN_COSTS_H

#include "dialect/IR/Xf.h"

#include "llvm/ADT/StringMap.h"

namespace xf {

/// Sizes of dimensions, by name.
using Sizes = llvm::StringMap<int64_t>;

struct Cost {
  double operations = 0;  // additions, multiplications, comparisons, ...: 2 for each element that a product multiplies
  double weightBytes = 0; // of parameters
  double otherBytes = 0;  // of tensors that are read or written, each once

  double bytes() const { return weightBytes + otherBytes; }
  Cost &operator+=(const Cost &other);
};

/// How many elements a tensor has at these sizes; dimensions that are not listed count 1.
double countElements(mlir::RankedTensorType type, const Sizes &sizes);

/// The cost of one call. Attention counts all pairs of positions, even those that its mask hides.
Cost costOf(mlir::Operation *kernelOp, const Sizes &sizes);

} // namespace xf

#endif // XF_COMPILER_EXPLAIN_COSTS_H
