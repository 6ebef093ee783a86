// LLVM's optimisations of generated code, whatever it is made for.
#ifndef XF_COMPILER_TARGET_OPTIMIZE_H
#define XF_COMPILER_TARGET_OPTIMIZE_H

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace xf::codegen {

/// `few` are enough for CPUs. On GPUs some kernels spill registers after them that do not after LLVM's own list, O1: wide heads of 16 bits.
enum class Passes { few, all };
/// LLVM's simplifications, without vectorising or unrolling what comes as it is to be.
void optimize(llvm::Module &module, llvm::TargetMachine &machine, Passes which);

} // namespace xf::codegen

#endif // XF_COMPILER_TARGET_OPTIMIZE_H
