// Objects, assembly and LLVM IR of a module.
#include "compiler/Target/CPU/Kernels.h"
#include "compiler/Target/CPU/Lower.h"

#include "llvm/IR/LegacyPassManager.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace xf::cpu {

namespace {
using Bytes = SmallVector<char, 0>;
/// Writes lowered code; false if it cannot.
using Printer = llvm::function_ref<bool(llvm::Module &, llvm::TargetMachine &, llvm::raw_pwrite_stream &)>;
} // namespace

static FailureOr<Bytes> print(llvm::Module &code, llvm::TargetMachine &machine, std::string &error, Printer printer) {
  Bytes bytes;
  llvm::raw_svector_ostream stream(bytes);
  if (printer(code, machine, stream))
    return bytes;
  error = "the code generator cannot write this kind of file";
  return failure();
}

static FailureOr<Bytes> lowerAndPrint(ModuleOp module, std::string &error, Printer printer) {
  std::unique_ptr<llvm::TargetMachine> machine = makeTargetMachine(error);
  if (!machine)
    return failure();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code = lowerToLLVM(module, context, *machine, error);
  if (!code)
    return failure();
  return print(*code, *machine, error, printer);
}

/// What the code generator writes, an object or assembly text.
static bool generate(llvm::Module &code, llvm::TargetMachine &machine, llvm::CodeGenFileType type, llvm::raw_pwrite_stream &stream) {
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type))
    return false;
  passes.run(code);
  return true;
}

static FailureOr<std::string> asText(FailureOr<Bytes> bytes) {
  if (failed(bytes))
    return failure();
  return std::string(bytes->data(), bytes->size());
}

static FailureOr<std::unique_ptr<llvm::MemoryBuffer>> asObject(FailureOr<Bytes> bytes) {
  if (failed(bytes))
    return failure();
  return std::unique_ptr<llvm::MemoryBuffer>(
      std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(*bytes), "xfc.o", /*RequiresNullTerminator=*/false));
}

static bool writeObject(llvm::Module &code, llvm::TargetMachine &machine, llvm::raw_pwrite_stream &stream) {
  return generate(code, machine, llvm::CodeGenFileType::ObjectFile, stream);
}

FailureOr<std::unique_ptr<llvm::MemoryBuffer>> emitObject(ModuleOp module, std::string &error) {
  return asObject(lowerAndPrint(module, error, writeObject));
}

FailureOr<std::unique_ptr<llvm::MemoryBuffer>> emitObject(llvm::Module &code, llvm::TargetMachine &machine, std::string &error) {
  return asObject(print(code, machine, error, writeObject));
}

FailureOr<std::string> emitAssembly(ModuleOp module, std::string &error) {
  return asText(lowerAndPrint(module, error, [](llvm::Module &code, llvm::TargetMachine &machine, llvm::raw_pwrite_stream &stream) {
    return generate(code, machine, llvm::CodeGenFileType::AssemblyFile, stream);
  }));
}

FailureOr<std::string> emitLLVM(ModuleOp module, std::string &error) {
  return asText(lowerAndPrint(module, error, [](llvm::Module &code, llvm::TargetMachine &, llvm::raw_pwrite_stream &stream) {
    code.print(stream, nullptr);
    return true;
  }));
}

} // namespace xf::cpu
