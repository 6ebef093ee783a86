// From a module of kernels and plans to optimised LLVM IR.
#ifndef XF_COMPILER_TARGET_CPU_LOWER_H
#define XF_COMPILER_TARGET_CPU_LOWER_H

#include "compiler/Target/CPU/Object.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>
#include <string>

namespace xf::cpu {

/// Brings `module` (llvm, scf, cf, arith, math, vector, ub) to the LLVM dialect alone. Every function that it ends
/// with can be compiled without calling anything outside the module.
mlir::LogicalResult lowerToLLVMDialect(mlir::ModuleOp module, std::string &error);

/// The machine that the baseline's code is for; position-independent code.
std::unique_ptr<llvm::TargetMachine> makeTargetMachine(std::string &error);

/// LLVM IR of what lowerToLLVMDialect made, each function with its instruction set's attributes; not optimised.
std::unique_ptr<llvm::Module> translateToLLVM(mlir::ModuleOp module, llvm::LLVMContext &context, llvm::TargetMachine &machine, std::string &error);

/// Runs LLVM's simplifications, then rewrites what LLVM would compile wrongly.
void optimizeKernels(llvm::Module &module, llvm::TargetMachine &machine);

/// All three for a copy of `module`.
std::unique_ptr<llvm::Module> lowerToLLVM(mlir::ModuleOp module, llvm::LLVMContext &context, llvm::TargetMachine &machine, std::string &error);

/// An object of what lowerToLLVM made.
mlir::FailureOr<Object> emitObject(llvm::Module &code, llvm::TargetMachine &machine, std::string &error);
} // namespace xf::cpu

#endif // XF_COMPILER_TARGET_CPU_LOWER_H
