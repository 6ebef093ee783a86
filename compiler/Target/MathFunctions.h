// Functions of the math and arith dialects that kernels' regions call.
#ifndef XF_COMPILER_TARGET_MATHFUNCTIONS_H
#define XF_COMPILER_TARGET_MATHFUNCTIONS_H

#include "compiler/Target/CodeBuilder.h"

namespace xf::codegen {

/// `op` on `operands` (vectors or scalars), if neither MLIR nor LLVM has code for it, or none that is accurate enough;
/// else null.
mlir::Value emitFunction(CodeBuilder &b, mlir::Operation *op, mlir::ValueRange operands);

} // namespace xf::codegen

#endif // XF_COMPILER_TARGET_MATHFUNCTIONS_H
