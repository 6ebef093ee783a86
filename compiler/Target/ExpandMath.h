// Functions of the math dialect that are left in kernels, as arithmetic.
#ifndef XF_COMPILER_TARGET_EXPANDMATH_H
#define XF_COMPILER_TARGET_EXPANDMATH_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace xf::codegen {

/// Replaces functions of the math dialect by polynomials, and fused multiply-adds by two operations in functions for
/// processors without them.
mlir::LogicalResult expandMathOps(mlir::ModuleOp module, std::string &error);

} // namespace xf::codegen

#endif // XF_COMPILER_TARGET_EXPANDMATH_H
