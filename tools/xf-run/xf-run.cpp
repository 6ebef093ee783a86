// xf-run: runs compiled models on tensors, and compares them with golden numbers or with the reference interpreter.
#include "compiler/Import/Error.h"
#include "compiler/Import/Safetensors.h"
#include "compiler/Import/WriteFile.h"
#include "compiler/Reference/ReferenceEngine.h"
#include "tools/common/CommandLine.h"
#include "tools/common/Limits.h"
#include "tools/common/ParseIR.h"
#include "tools/common/Registration.h"
#include "tools/xf-run/CompiledEngine.h"
#include "tools/xf-run/ImageParameters.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"

namespace cl = llvm::cl;

namespace {

enum class Reference { none, f64, f32 };

struct Options {
  cl::OptionCategory category{"xf-run options"};
  xf::Text file{cl::Positional, cl::desc("FILE (program, library or model file)"), cl::Required, cl::cat(category)};
  xf::Text golden{"golden", cl::desc("Compares with in.NAME and out.NAME (safetensors, .npz, or of torch.save, as for --inputs)"),
                  cl::value_desc("IO.safetensors"), cl::cat(category)};
  cl::opt<double> rtol{"rtol", cl::desc("Largest norm-wise error (default 1e-5)"), cl::init(1e-5), cl::cat(category)};
  xf::Text inputs{"inputs", cl::desc("Input tensors by name, with or without 'in.' before it; those called out.NAME are left out"),
                  cl::value_desc("FILE"), cl::cat(category)};
  xf::Text outputs{"outputs", cl::desc("Where results go (safetensors; with --golden, too)"), cl::value_desc("FILE"), cl::cat(category)};
  xf::Text entry{"entry", cl::desc("The entry to run (default: all that can run)"), cl::value_desc("NAME"), cl::cat(category)};
  cl::opt<int> threads{"threads", cl::desc("Threads (default: what the process may use)"), cl::init(0), cl::cat(category)};
  xf::Choice<xf_isa> isa{"isa", cl::desc("Instruction set"), cl::init(XF_ISA_BEST), cl::cat(category),
                         cl::values(clEnumValN(XF_ISA_BASELINE, "baseline", "x86-64-v2"), clEnumValN(XF_ISA_AVX2, "avx2", "x86-64-v3"),
                                    clEnumValN(XF_ISA_AVX2_VNNI, "avx2_vnni", "with AVX-VNNI (int8 models, encoders of bf16, large vocabularies)"),
                                    clEnumValN(XF_ISA_AVX512, "avx512", "x86-64-v4"),
                                    clEnumValN(XF_ISA_AVX512_VNNI, "avx512_vnni", "with VNNI (int8 models, encoders of bf16, large vocabularies)"),
                                    clEnumValN(XF_ISA_AVX512_BF16, "avx512_bf16", "with BF16 (bf16 and int8 models)"))};
  xf::Choice<xf_device> device{"device", cl::desc("Where to run (default: cuda where there is a GPU and code for it, else cpu)"),
                               cl::init(XF_DEVICE_BEST), cl::cat(category),
                               cl::values(clEnumValN(XF_DEVICE_BEST, "best", "the default"), clEnumValN(XF_DEVICE_CPU, "cpu", "the CPU"),
                                          clEnumValN(XF_DEVICE_CUDA, "cuda", "an NVIDIA GPU"),
                                          clEnumValN(XF_DEVICE_EMULATOR, "emulator", "the GPU's code, checked, on the CPU"))};
  xf::Choice<Reference> reference{"reference",
                                  cl::desc("Interprets the stored IR instead"),
                                  cl::ValueOptional,
                                  cl::init(Reference::none),
                                  cl::cat(category),
                                  cl::values(clEnumValN(Reference::f64, "", "in f64"), clEnumValN(Reference::f64, "f64", "in f64"),
                                             clEnumValN(Reference::f32, "f32", "in f32, rounded after each operation"))};
};

int fail(llvm::Error error) {
  llvm::errs() << "xf-run: error: " << llvm::toString(std::move(error)) << "\n";
  return 1;
}

/// The interpreter for the IR and the weights that a compiled file stores.
struct StoredReference {
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::unique_ptr<xf::ImageParameters> parameters;
  std::unique_ptr<xf::ReferenceEngine> engine;

  llvm::Error open(const std::string &path, xf::Precision precision) try {
    auto model = xf::rt::open_model(path);
    mlir::DialectRegistry registry;
    xf::registerDialects(registry);
    context = std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
    module = xf::parseIR(model->text(model->header().ir), *context, path);
    if (!module || module->getBody()->empty())
      return xf::makeError("{}: it stores no IR to interpret", path);
    parameters = std::make_unique<xf::ImageParameters>(std::move(model));
    engine = std::make_unique<xf::ReferenceEngine>(*module, *parameters, precision);
    return llvm::Error::success();
  } catch (const std::exception &problem) {
    return xf::makeError("{}", problem.what());
  }
};

/// Runs the named entry, or every entry whose inputs are there; results feed later entries.
llvm::Error runOnInputs(xf::Engine &engine, const Options &options) {
  auto file = xf::openTensorFile(options.inputs);
  if (!file)
    return file.takeError();
  xf::TensorMap values, results;
  for (const xf::TensorInfo &tensor : (*file)->getTensors()) {
    llvm::StringRef name = tensor.name;
    name.consume_front("in.");
    if (name.starts_with("out."))
      continue;
    auto value = (*file)->read(tensor);
    if (!value)
      return value.takeError();
    if (!values.try_emplace(name.str(), std::move(*value)).second)
      return xf::makeError("{}: tensors 'in.{}' and '{}' are the same input", options.inputs.getValue(), name.str(), name.str());
  }
  auto count = xf::runEntries(engine, values, options.entry,
                              [&](const xf::Engine::Entry &, const std::string &name, xf::Tensor tensor) { results[name] = std::move(tensor); });
  if (!count)
    return xf::makeError("{}: {}", options.inputs.getValue(), llvm::toString(count.takeError()));
  if (*count == 0)
    return xf::makeError("{}: no entry can run on these inputs: {}", options.inputs.getValue(), xf::missingInputs(engine, values));
  return xf::writeSafetensors(options.outputs, results);
}

/// Checks that the options go together, and that results can be written.
llvm::Error checkOptions(const Options &options) {
  bool compares = !options.golden.empty();
  if (compares == !options.inputs.empty() || (!compares && options.outputs.empty()))
    return xf::makeError("give either --golden, or --inputs and --outputs");
  if (compares && !options.entry.empty())
    return xf::makeError("--entry is for --inputs: --golden runs every entry whose inputs are there");
  if (!compares && options.rtol.getNumOccurrences())
    return xf::makeError("--rtol is for --golden");
  for (const cl::Option *option : std::initializer_list<const cl::Option *>{&options.threads, &options.isa, &options.device})
    if (options.reference != Reference::none && option->getNumOccurrences())
      return xf::makeError("--{} is for what was compiled, not for --reference", option->ArgStr.str());
  if (options.outputs.empty())
    return llvm::Error::success();
  if (llvm::StringRef(options.outputs).ends_with_insensitive(".npz"))
    return xf::makeError("--outputs {}: results are written as safetensors, not as .npz", options.outputs.getValue());
  for (const auto *input : {&options.file, &options.golden, &options.inputs})
    if (llvm::sys::fs::equivalent(options.outputs.getValue(), input->getValue()))
      return xf::makeError("--outputs {}: is an input, and would be overwritten", options.outputs.getValue());
  return xf::checkWritable(options.outputs);
}

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  xf::failAtLimits();
  xf::removeForeignOptions();
  Options options;
  cl::HideUnrelatedOptions(options.category);
  cl::SetVersionPrinter([](llvm::raw_ostream &os) { os << "xf-run " XF_VERSION "\n"; });
  cl::ParseCommandLineOptions(argc, argv, "Runs compiled models on tensors.\n");
  if (auto error = checkOptions(options))
    return fail(std::move(error));

  StoredReference reference;
  std::unique_ptr<xf::CompiledEngine> compiled;
  xf::Engine *engine = nullptr;
  if (options.reference != Reference::none) {
    auto precision = options.reference == Reference::f64 ? xf::Precision::F64 : xf::Precision::F32;
    if (auto error = reference.open(options.file, precision))
      return fail(std::move(error));
    engine = reference.engine.get();
  } else {
    auto opened = xf::CompiledEngine::open(options.file, options.threads, options.isa, options.device);
    if (!opened)
      return fail(opened.takeError());
    compiled = std::move(*opened);
    engine = compiled.get();
  }
  if (options.golden.empty()) {
    if (auto error = runOnInputs(*engine, options))
      return fail(std::move(error));
    return 0;
  }
  xf::TensorMap results;
  auto report = xf::runGolden(*engine, options.golden, {options.rtol, options.outputs.empty() ? nullptr : &results});
  if (!report)
    return fail(report.takeError());
  llvm::outs() << report->format();
  if (!options.outputs.empty())
    if (auto error = xf::writeSafetensors(options.outputs, results))
      return fail(std::move(error));
  return report->passed() ? 0 : 1;
}
