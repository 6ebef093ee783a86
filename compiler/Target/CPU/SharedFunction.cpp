#include "compiler/Target/CPU/SharedFunction.h"

using namespace mlir;

namespace xf::cpu {

LLVM::LLVMFuncOp getSharedFunction(ModuleOp module, StringRef name, ArrayRef<Type> arguments, Isa isa, llvm::function_ref<void(CodeBuilder &)> emit) {
  if (auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return function;
  CodeBuilder b(module, name, arguments, isa, module.getLoc());
  b.function().setLinkage(LLVM::Linkage::Internal);
  b.function().setNoInline(true);
  emit(b);
  b.finish();
  return b.function();
}

} // namespace xf::cpu
