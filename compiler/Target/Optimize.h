// LLVM's optimisations of generated code, whatever it is made for.
#ifndef XF_COMPILER_TARGET_OPTIMIZE_H
#define XF_COMPILER_TARGET_OPTIMIZE_H

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace xf::codegen {

/// LLVM's simplifications, without vectorising or unrolling what comes as it is to be.
void optimize(llvm::Module &module, llvm::TargetMachine &machine);

} // namespace xf::codegen

#endif // XF_COMPILER_TARGET_OPTIMIZE_H
