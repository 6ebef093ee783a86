#ifndef XF_COMPILER_FRONTEND_CLEANUP_H
#define XF_COMPILER_FRONTEND_CLEANUP_H

#include "mlir/IR/BuiltinOps.h"

namespace xf::frontend {

/// Operations without effect and uses go, and so do the results of repeats that nobody reads.
void cleanUp(mlir::ModuleOp module);

} // namespace xf::frontend

#endif // XF_COMPILER_FRONTEND_CLEANUP_H
