// From a module of kernels and plans to optimised LLVM IR.
#ifndef XF_COMPILER_TARGET_CPU_LOWER_H
#define XF_COMPILER_TARGET_CPU_LOWER_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>
#include <string>

namespace xf::cpu {

/// Brings `module` (llvm, scf, cf, arith, math, vector, func) to the LLVM dialect alone. Every function that it ends
/// with can be compiled without calling anything outside the module.
mlir::LogicalResult lowerToLLVMDialect(mlir::ModuleOp module, std::string &error);

/// Replaces functions of the math dialect by polynomials, and fused multiply-adds by two operations in functions for
/// processors without them.
mlir::LogicalResult expandMathOps(mlir::ModuleOp module, std::string &error);

/// The machine that the baseline's code is for; position-independent code.
std::unique_ptr<llvm::TargetMachine> makeTargetMachine(std::string &error);

/// LLVM IR of a copy of `module`, each function with its instruction set's attributes, optimised.
std::unique_ptr<llvm::Module> lowerToLLVM(mlir::ModuleOp module, llvm::LLVMContext &context,
                                          llvm::TargetMachine &machine, std::string &error);

/// An object of what lowerToLLVM made.
mlir::FailureOr<std::unique_ptr<llvm::MemoryBuffer>> emitObject(llvm::Module &code, llvm::TargetMachine &machine, std::string &error);

/// LLVM's simplifications, without vectorising or unrolling what comes as it is to be.
void optimize(llvm::Module &module, llvm::TargetMachine &machine);

} // namespace xf::cpu

#endif // XF_COMPILER_TARGET_CPU_LOWER_H
