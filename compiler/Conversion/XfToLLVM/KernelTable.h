// The kernels of a model: each distinct one once for every instruction set, and for the GPU.
#ifndef XF_COMPILER_CONVERSION_XFTOLLVM_KERNELTABLE_H
#define XF_COMPILER_CONVERSION_XFTOLLVM_KERNELTABLE_H

#include "compiler/Conversion/XfToLLVM/Plan.h"
#include "compiler/Conversion/XfToLLVM/Prologues.h"

namespace xf {

class KernelTable {
public:
  /// Kernels go to `code`; `root` is the module that their ops live in.
  KernelTable(CodeModule &code, mlir::ModuleOp root) : code(code), root(root) {}

  bool isForGpus() const { return code.targets.cuda; }
  /// The index of the kernel for `op` with views as `access` says; emits it if it is new.
  mlir::FailureOr<unsigned> get(mlir::Operation *op, const codegen::KernelAccess &access);

  /// A kernel's index, and the access with which it was requested.
  struct EmittedKernel {
    unsigned index;
    codegen::KernelAccess access;
  };
  /// Adds a launch with which GPUs compute both at once, if it is new and possible.
  void addPair(const ProloguePair &pair, const EmittedKernel &row, const EmittedKernel &product);

private:
  mlir::LogicalResult emit(llvm::StringRef name, mlir::Operation *op, const codegen::KernelAccess &access);

  CodeModule &code;
  mlir::ModuleOp root;
  llvm::StringMap<unsigned> indices;
  llvm::DenseSet<std::tuple<unsigned, unsigned, unsigned>> pairs; // that have been requested
};

} // namespace xf

#endif // XF_COMPILER_CONVERSION_XFTOLLVM_KERNELTABLE_H
