#ifndef XF_COMPILER_FRONTEND_CLEANUP_H
#define XF_COMPILER_FRONTEND_CLEANUP_H

#include "mlir/IR/BuiltinOps.h"

namespace xf::frontend {

/// Removes operations without effects and uses, and results of repeats that nothing reads.
void cleanUp(mlir::ModuleOp module);

} // namespace xf::frontend

#endif // XF_COMPILER_FRONTEND_CLEANUP_H
