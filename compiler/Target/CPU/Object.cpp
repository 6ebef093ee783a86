#include "compiler/Target/CPU/Object.h"

#include "compiler/Support/OnAllCores.h"
#include "compiler/Target/CPU/Lower.h"
#include "compiler/Target/SplitModule.h"

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

FailureOr<Object> emitObject(llvm::Module &code, llvm::TargetMachine &machine, std::string &error) {
  FailureOr<Bytes> bytes = print(code, machine, error, [](llvm::Module &code, llvm::TargetMachine &machine, llvm::raw_pwrite_stream &stream) {
    return generate(code, machine, llvm::CodeGenFileType::ObjectFile, stream);
  });
  if (failed(bytes))
    return failure();
  return Object(std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(*bytes), "xfc.o", /*RequiresNullTerminator=*/false));
}

namespace {

/// A part of a module on its way to an object. LLVM's contexts are for one thread each.
struct Translation {
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::LLVMContext> context = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::Module> code;
  FailureOr<Object> object = failure();
  std::string error;

  void finish() {
    optimizeKernels(*code, *machine);
    object = emitObject(*code, *machine, error);
    code.reset();
  }
};

} // namespace

FailureOr<std::vector<Object>> emitObjects(ModuleOp module, std::string &error) {
  OwningOpRef<ModuleOp> copy = module.clone();
  if (failed(lowerToLLVMDialect(*copy, error)))
    return failure();
  std::vector<Translation> parts;
  SmallVector<size_t> sizes;
  for (codegen::ModulePart &part : codegen::splitModule(*copy)) {
    Translation &translation = parts.emplace_back();
    sizes.push_back(part.operations);
    translation.machine = makeTargetMachine(error);
    if (translation.machine)
      translation.code = translateToLLVM(*part.module, *translation.context, *translation.machine, error);
    if (!translation.code)
      return failure();
  }
  onAllCores(sizes, [&](size_t part) { parts[part].finish(); });
  std::vector<Object> objects;
  for (Translation &part : parts) {
    if (failed(part.object)) {
      error = part.error;
      return failure();
    }
    objects.push_back(std::move(*part.object));
  }
  return objects;
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
