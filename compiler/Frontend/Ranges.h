// The values that an integer may have: whether an index stays inside what it indexes.
#ifndef XF_COMPILER_FRONTEND_RANGES_H
#define XF_COMPILER_FRONTEND_RANGES_H

#include "mlir/IR/Value.h"

namespace xf::frontend {

/// Whether `index`, an element or all elements of a tensor, is in 0 … size - 1 whatever the model is given. Tokens may be anything;
/// positions count from 0.
bool isInBounds(mlir::Value index, int64_t size);

/// Whether it is never negative.
bool isNonNegative(mlir::Value index);

} // namespace xf::frontend

#endif // XF_COMPILER_FRONTEND_RANGES_H
