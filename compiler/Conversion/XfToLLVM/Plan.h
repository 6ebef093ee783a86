// From kernel IR to one module of LLVM-level code: a plan for each entry, and the kernels that they call.
#ifndef XF_COMPILER_CONVERSION_XFTOLLVM_PLAN_H
#define XF_COMPILER_CONVERSION_XFTOLLVM_PLAN_H

#include "compiler/Conversion/XfToLLVM/DataLayout.h"

namespace xf {

struct CodeModule {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  DataLayout layout;
  std::vector<std::string> kernels; // names without the instruction set's suffix, by number
  std::vector<std::string> plans;   // names of the entries' plans, in the entries' order
  int64_t workspaceBytes = 0;
  int64_t scratchBytes = 0;
};

/// Emits plans and kernels for all entries of `module`, whose views are materialised.
mlir::FailureOr<CodeModule> convertToCode(mlir::ModuleOp module);

} // namespace xf

#endif // XF_COMPILER_CONVERSION_XFTOLLVM_PLAN_H
