// The passes on xf IR and their registration.
#ifndef XF_COMPILER_TRANSFORMS_PASSES_H
#define XF_COMPILER_TRANSFORMS_PASSES_H

#include "dialect/IR/Xf.h"

#include "mlir/Pass/Pass.h"

namespace xf {

#define GEN_PASS_DECL
#include "compiler/Transforms/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "compiler/Transforms/Passes.h.inc"

} // namespace xf

#endif // XF_COMPILER_TRANSFORMS_PASSES_H
