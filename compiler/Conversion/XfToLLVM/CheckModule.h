// Checks the form of kernel IR, beyond what verifiers see.
#ifndef XF_COMPILER_CONVERSION_XFTOLLVM_CHECKMODULE_H
#define XF_COMPILER_CONVERSION_XFTOLLVM_CHECKMODULE_H

#include "mlir/IR/BuiltinOps.h"

namespace xf {

/// Whether the module, which must have been verified, is kernel IR that can be converted to code. Errors are reported at the op
/// that is at fault.
llvm::LogicalResult checkModule(mlir::ModuleOp module);

/// The part of it that looks at xf.generate and xf.predict.
llvm::LogicalResult checkRoles(mlir::ModuleOp module);

} // namespace xf

#endif // XF_COMPILER_CONVERSION_XFTOLLVM_CHECKMODULE_H
