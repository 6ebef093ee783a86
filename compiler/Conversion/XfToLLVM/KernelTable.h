// The kernels of a model: each distinct one once for every instruction set.
#ifndef XF_COMPILER_CONVERSION_XFTOLLVM_KERNELTABLE_H
#define XF_COMPILER_CONVERSION_XFTOLLVM_KERNELTABLE_H

#include "compiler/Target/CPU/Kernels.h"

namespace xf {

class KernelTable {
public:
  /// Kernels go to `code`; `root` is the module that their ops live in.
  KernelTable(mlir::ModuleOp code, mlir::ModuleOp root) : code(code), root(root) {}

  /// The number of the kernel for `op` with views as `access` says; emits it if it is new.
  mlir::FailureOr<unsigned> get(mlir::Operation *op, const cpu::KernelAccess &access);

  /// Kernels' names without the instruction set's suffix, by number.
  llvm::ArrayRef<std::string> names() const { return kernelNames; }
  /// Bytes of scratch that a thread needs for any of them.
  int64_t scratchBytes() const { return scratch; }

private:
  mlir::ModuleOp code, root;
  llvm::StringMap<unsigned> numbers;
  std::vector<std::string> kernelNames;
  int64_t scratch = 0;
};

} // namespace xf

#endif // XF_COMPILER_CONVERSION_XFTOLLVM_KERNELTABLE_H
