// Why kernels stay apart where one would expect that they are one.
#ifndef XF_COMPILER_EXPLAIN_REASONS_H
#define XF_COMPILER_EXPLAIN_REASONS_H

#include "dialect/IR/Xf.h"

#include <string>

namespace xf {

/// Why a kernel op is not a part of the one before it; empty where nobody expects that it is.
std::string whyNotFused(mlir::Operation *kernelOp);

} // namespace xf

#endif // XF_COMPILER_EXPLAIN_REASONS_H
