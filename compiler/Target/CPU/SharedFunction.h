// Functions of a module of kernels that several of these call.
#ifndef XF_COMPILER_TARGET_CPU_SHAREDFUNCTION_H
#define XF_COMPILER_TARGET_CPU_SHAREDFUNCTION_H

#include "compiler/Target/CodeBuilder.h"

namespace xf::cpu {

/// Function `name` of `module`, made for `isa`; it is defined on first use, its body being what `emit` writes. It stays a function of its own.
mlir::LLVM::LLVMFuncOp getSharedFunction(mlir::ModuleOp module, llvm::StringRef name, llvm::ArrayRef<mlir::Type> arguments, Isa isa,
                                         llvm::function_ref<void(CodeBuilder &)> emit);

} // namespace xf::cpu

#endif // XF_COMPILER_TARGET_CPU_SHAREDFUNCTION_H
