// The kernels of a model: each distinct one once for every instruction set, and for the GPU.
#ifndef XF_COMPILER_CONVERSION_XFTOLLVM_KERNELTABLE_H
#define XF_COMPILER_CONVERSION_XFTOLLVM_KERNELTABLE_H

#include "compiler/Conversion/XfToLLVM/Plan.h"

namespace xf {

class KernelTable {
public:
  /// Kernels go to `code`; `root` is the module that their ops live in.
  KernelTable(CodeModule &code, mlir::ModuleOp root) : code(code), root(root) {}

  /// The number of the kernel for `op` with views as `access` says; emits it if it is new.
  mlir::FailureOr<unsigned> get(mlir::Operation *op, const cpu::KernelAccess &access);

private:
  mlir::LogicalResult emit(llvm::StringRef name, mlir::Operation *op, const cpu::KernelAccess &access);

  CodeModule &code;
  mlir::ModuleOp root;
  llvm::StringMap<unsigned> numbers;
};

} // namespace xf

#endif // XF_COMPILER_CONVERSION_XFTOLLVM_KERNELTABLE_H
