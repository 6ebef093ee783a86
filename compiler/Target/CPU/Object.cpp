// Objects, assembly and LLVM IR of a module.
#include "compiler/Target/CPU/Kernels.h"
#include "compiler/Target/CPU/Lower.h"

#include "llvm/IR/LegacyPassManager.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace xf::cpu {

/// What the code generator writes, an object or assembly text.
static FailureOr<SmallVector<char, 0>> generate(ModuleOp module, llvm::CodeGenFileType type, std::string &error) {
  std::unique_ptr<llvm::TargetMachine> machine = makeTargetMachine(error);
  if (!machine)
    return failure();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code = lowerToLLVM(module, context, *machine, error);
  if (!code)
    return failure();
  SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, type)) {
    error = "the code generator cannot write this kind of file";
    return failure();
  }
  passes.run(*code);
  return bytes;
}

FailureOr<std::unique_ptr<llvm::MemoryBuffer>> emitObject(ModuleOp module, std::string &error) {
  auto bytes = generate(module, llvm::CodeGenFileType::ObjectFile, error);
  if (failed(bytes))
    return failure();
  return std::unique_ptr<llvm::MemoryBuffer>(
      std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(*bytes), "xfc.o", /*RequiresNullTerminator=*/false));
}

FailureOr<std::string> emitAssembly(ModuleOp module, std::string &error) {
  auto text = generate(module, llvm::CodeGenFileType::AssemblyFile, error);
  if (failed(text))
    return failure();
  return std::string(text->data(), text->size());
}

FailureOr<std::string> emitLLVM(ModuleOp module, std::string &error) {
  std::unique_ptr<llvm::TargetMachine> machine = makeTargetMachine(error);
  if (!machine)
    return failure();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code = lowerToLLVM(module, context, *machine, error);
  if (!code)
    return failure();
  std::string text;
  llvm::raw_string_ostream stream(text);
  code->print(stream, nullptr);
  return text;
}

} // namespace xf::cpu
