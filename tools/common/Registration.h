// What every tool registers: one list for all of them.
#ifndef XF_TOOLS_COMMON_REGISTRATION_H
#define XF_TOOLS_COMMON_REGISTRATION_H

#include "dialect/IR/Xf.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace xf {

/// The dialect, those that its regions use, and those that code is lowered through.
inline void registerDialects(mlir::DialectRegistry &registry) {
  registry.insert<mlir::xf::XfDialect, mlir::arith::ArithDialect, mlir::math::MathDialect, mlir::func::FuncDialect, mlir::scf::SCFDialect,
                  mlir::vector::VectorDialect, mlir::LLVM::LLVMDialect, mlir::gpu::GPUDialect, mlir::NVVM::NVVMDialect>();
}

} // namespace xf

#endif // XF_TOOLS_COMMON_REGISTRATION_H
