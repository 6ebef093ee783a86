#include "compiler/Pipelines/Compile.h"

#include "compiler/Conversion/XfToLLVM/Plan.h"
#include "compiler/Import/Error.h"
#include "compiler/Import/WriteFile.h"
#include "compiler/Pipelines/Pipelines.h"
#include "compiler/Target/Link/Artefact.h"
#include "dialect/IR/ModuleRoles.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"

#include <future>

using namespace mlir;
using namespace mlir::xf;

namespace xf {
namespace {

llvm::Error writeText(StringRef path, StringRef text) {
  auto write = [&](llvm::raw_ostream &out) {
    out << text;
    return llvm::Error::success();
  };
  return path == "-" ? writeStdout(write) : writeFile(path, /*executable=*/false, write);
}

std::string printModule(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os);
  return text;
}

/// Search rows are sentences times beams: the batch dimension must hold them all.
void widenBatch(ModuleOp module) {
  ModuleRoles generate(module, kGenerateAttr);
  std::optional<int64_t> sentences = generate.bound("batch");
  if (!sentences)
    return;
  int64_t rows;
  if (llvm::MulOverflow(*sentences, generate.beams(), rows))
    rows = std::numeric_limits<int64_t>::max(); // conversion to code says that it is too large
  setBound(module, generate.name("batch"), rows);
}

/// The phase that the module has passed; empty for model IR.
StringRef phaseOf(ModuleOp module) {
  auto name = module->getAttrOfType<StringAttr>(kPhaseAttr);
  return name ? name.getValue() : "";
}

class Compilation {
public:
  Compilation(ModuleOp module, ParameterSource *source, const CompileOptions &options) : module(module), source(source), options(options) {}

  llvm::Error run() {
    if (auto error = checkOptions(module, options))
      return error;
    std::string ir;
    if (phase() != kKernelPhase) {
      ir = printModule(module);
      if (phase().empty()) {
        if (auto error = dump("1-model.mlir", ir))
          return error;
        if (options.emit == Emit::xf)
          return writeText(options.output, ir);
        if (auto error = roundWeights(ir))
          return error;
        widenBatch(module);
        if (auto error = runPasses(buildStepPipeline))
          return error;
        setPhase(kStepPhase);
      } else if (auto error = roundWeights(ir)) {
        return error;
      }
      if (auto error = dump("2-step.mlir", printModule(module)))
        return error;
      if (auto error = runPasses([&](OpPassManager &passes) { buildKernelPipeline(passes, options.type, options.targets.cpu); }))
        return error;
    }
    setPhase(kKernelPhase);
    if (auto error = dump("3-kernel.mlir", printModule(module)))
      return error;
    if (options.emit == Emit::fused || options.emit == Emit::xf)
      return writeText(options.output, printModule(module));
    auto codeModule = convertToCode(module, options.targets);
    if (failed(codeModule))
      return makeError("");
    if (auto error = dump("4-code.mlir", options.dumpPhases.empty() ? "" : printModule(*codeModule->module)))
      return error;
    if (codeModule->gpuModule)
      if (auto error = dump("5-gpu.mlir", options.dumpPhases.empty() ? "" : printModule(*codeModule->gpuModule)))
        return error;
    if (options.inspect)
      if (auto error = options.inspect(module, *codeModule))
        return error;
    return emit(*codeModule, ir);
  }

private:
  StringRef phase() { return phaseOf(module); }
  void setPhase(StringRef name) { module->setAttr(kPhaseAttr, StringAttr::get(module.getContext(), name)); }

  llvm::Error emit(CodeModule &codeModule, const std::string &ir) {
    std::string why;
    if (options.emit == Emit::ptx) {
      auto text = gpu::emitPtx(*codeModule.gpuModule, why);
      return failed(text) ? makeError("{}", why) : writeText(options.output, *text);
    }
    if (options.emit == Emit::llvm || options.emit == Emit::assembly) {
      auto text = options.emit == Emit::llvm ? cpu::emitLLVM(*codeModule.module, why) : cpu::emitAssembly(*codeModule.module, why);
      return failed(text) ? makeError("{}", why) : writeText(options.output, *text);
    }
    if (codeModule.kernels.empty()) // a file without kernels cannot be opened
      return makeError("no entry computes anything");
    // LLVM writes PTX in a thread beside the code for CPUs.
    std::string ptxProblem;
    std::future<FailureOr<std::string>> writing;
    if (codeModule.gpuModule) {
      auto write = gpu::preparePtx(*codeModule.gpuModule, why);
      if (failed(write))
        return makeError("{}", why);
      writing = std::async(std::move(*write), std::ref(ptxProblem));
    }
    auto objects = cpu::emitObjects(*codeModule.module, why);
    if (failed(objects))
      return makeError("{}", why);
    auto code = cpu::linkObjects(*objects, why);
    if (failed(code))
      return makeError("{}", why);
    FailureOr<std::string> ptx = writing.valid() ? writing.get() : std::string();
    if (failed(ptx))
      return makeError("{}", ptxProblem);
    ImageContents contents{module, codeModule, *code, *ptx, ir, options.source, options.target};
    Carrier carrier = options.emit == Emit::exe   ? Carrier::executable
                      : options.emit == Emit::so  ? Carrier::library
                      : options.emit == Emit::obj ? Carrier::object
                                                  : Carrier::none;
    return writeArtefact(contents, *source, carrier, carrier == Carrier::library ? options.library : options.runner, options.output);
  }

  /// Lets the model IR that the file stores say which weights the type rounds, so that the reference computes with the same ones.
  llvm::Error roundWeights(std::string &ir) {
    if (options.type == FactorType::f32)
      return llvm::Error::success();
    OwningOpRef<ModuleOp> copy = module.clone();
    auto error = runPasses([&](OpPassManager &passes) { buildRoundingPipeline(passes, options.type); }, *copy);
    ir = printModule(*copy);
    return error;
  }

  llvm::Error runPasses(llvm::function_ref<void(OpPassManager &)> build) { return runPasses(build, module); }
  llvm::Error runPasses(llvm::function_ref<void(OpPassManager &)> build, ModuleOp module) {
    PassManager passes(module.getContext());
    build(passes);
    return failed(passes.run(module)) ? makeError("") : llvm::Error::success();
  }

  llvm::Error dump(StringRef name, StringRef text) {
    if (options.dumpPhases.empty())
      return llvm::Error::success();
    if (auto code = llvm::sys::fs::create_directories(options.dumpPhases))
      return makeError("{}: {}", options.dumpPhases, code.message());
    llvm::SmallString<128> path(options.dumpPhases);
    llvm::sys::path::append(path, name);
    return writeText(path, text);
  }

  ModuleOp module;
  ParameterSource *source;
  const CompileOptions &options;
};

} // namespace

llvm::Error checkOptions(ModuleOp module, const CompileOptions &options) {
  if (auto error = checkVocabularies(module, options.source, options.target))
    return error;
  if (options.targets.cuda && options.type == FactorType::int8)
    return makeError("--type int8 is for the CPU: GPU kernels multiply f32, bf16, f16 and int8-weights");
  if (options.targets.cpu && options.type == FactorType::f16)
    return makeError("--type f16 is for GPUs (--target cuda): the CPU's kernels multiply f32, bf16, int8 and int8-weights");
  if (phaseOf(module) == kKernelPhase && options.type != FactorType::f32)
    return makeError("kernel IR has its types: --type is for what comes before it");
  return llvm::Error::success();
}

llvm::Error compile(ModuleOp module, ParameterSource *source, const CompileOptions &options) { return Compilation(module, source, options).run(); }

} // namespace xf
