// xfc: compiles a model description, or dumped IR, to one file; xfc explain says what became of a description.
#include "compiler/Frontend/Frontend.h"
#include "compiler/Import/Checkpoint.h"
#include "compiler/Import/RandomWeights.h"
#include "compiler/Import/WriteFile.h"
#include "compiler/Pipelines/Compile.h"
#include "compiler/Target/Link/Artefact.h"
#include "tools/common/CommandLine.h"
#include "tools/common/Limits.h"
#include "tools/common/ParseIR.h"
#include "tools/common/Registration.h"
#include "tools/xfc/Depfile.h"
#include "tools/xfc/ExplainModel.h"
#include "tools/xfc/ReadVocabulary.h"

#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"

namespace cl = llvm::cl;

namespace {

using xf::codegen::Isa;

struct Options {
  cl::OptionCategory category{"xfc options"};
  xf::Text input{cl::Positional, cl::desc("DESCRIPTION.xf (or IR: .mlir)"), cl::Required, cl::cat(category)};
  xf::Text output{"o", cl::desc("The file to write ('-': standard output, for text; the default of explain)"), cl::value_desc("FILE"),
                  cl::cat(category)};
  xf::Text model{"model", cl::desc("The model or block to compile (default: the last model)"), cl::value_desc("NAME"), cl::cat(category)};
  xf::Text config{"config", cl::desc("JSON with the model's parameters"), cl::value_desc("FILE"), cl::cat(category)};
  xf::Texts set{"set", cl::desc("Sets a parameter of the model"), cl::value_desc("NAME=VALUE"), cl::cat(category)};
  xf::Texts limit{"limit",
                  cl::desc("Largest value of a dimension, or of batch, source, target, beam (else what the description says, or 8 for the batch, "
                           "4 for the beam, 512)"),
                  cl::value_desc("NAME=N"), cl::cat(category)};
  xf::Texts weights{"weights", cl::desc("The checkpoint (safetensors, .npz, or of torch.save; of several files: each, or their index.json)"),
                    cl::value_desc("FILE"), cl::cat(category)};
  cl::opt<uint64_t> random{"random-weights", cl::desc("Random weights instead of a checkpoint"), cl::value_desc("SEED"), cl::cat(category)};
  xf::Texts ignore{"ignore", cl::desc("Checkpoint tensors that the model need not use (with * and ?)"), cl::value_desc("PATTERN"), cl::cat(category)};
  xf::Choice<xf::FactorType> type{
      "type", cl::desc("What products with weights multiply"), cl::init(xf::FactorType::f32), cl::cat(category),
      cl::values(clEnumValN(xf::FactorType::f32, "f32", "f32 (default)"),
                 clEnumValN(xf::FactorType::bf16, "bf16", "bf16, sums are f32: weights take half the memory"),
                 clEnumValN(xf::FactorType::f16, "f16", "the same in f16, for --target cuda: 3 more bits, but nothing beyond 65504"),
                 clEnumValN(xf::FactorType::int8, "int8", "bytes with a scale a row, sums are exact: a quarter"),
                 clEnumValN(xf::FactorType::int8Weights, "int8-weights", "weights as in int8, activations and sums are f32"))};
  xf::Text sourceVocab{"source-vocab", cl::desc("Source vocabulary: a token a line, or a JSON object (FILE.json) of tokens and their numbers"),
                       cl::value_desc("FILE"), cl::cat(category)};
  xf::Text targetVocab{"target-vocab", cl::desc("Target vocabulary, as that of the source"), cl::value_desc("FILE"), cl::cat(category)};
  xf::Text sourceSpm{"source-spm",
                     cl::desc("SentencePiece model of the source, for text(source = subwords); its pieces are the tokens without --source-vocab"),
                     cl::value_desc("FILE"), cl::cat(category)};
  xf::Text targetSpm{"target-spm", cl::desc("The same of the target"), cl::value_desc("FILE"), cl::cat(category)};
  xf::Text sourceTokenizer{"source-tokenizer", cl::desc("Hugging Face tokenizer.json of the source, for text(source = subwords)"),
                           cl::value_desc("FILE"), cl::cat(category)};
  xf::Text targetTokenizer{"target-tokenizer", cl::desc("The same of the target"), cl::value_desc("FILE"), cl::cat(category)};
  xf::Text depfile{"depfile", cl::desc("Writes what files the output was made from, as make and Ninja read it"), cl::value_desc("FILE"),
                   cl::cat(category)};
  xf::Text dumpPhases{"dump-phases", cl::desc("Writes the IR after each phase to a folder"), cl::value_desc("DIR"), cl::cat(category)};
  cl::opt<bool> verbose{"verbose", cl::desc("Says what was ignored"), cl::cat(category)};
  xf::Choice<xf::Emit> emit{"emit", cl::desc("What to write"), cl::init(xf::Emit::exe), cl::cat(category),
                            cl::values(clEnumValN(xf::Emit::exe, "exe", "a program (default)"),
                                       clEnumValN(xf::Emit::so, "so", "a shared library with the C API"),
                                       clEnumValN(xf::Emit::obj, "obj", "an object file with a C header, to link with the runtime"),
                                       clEnumValN(xf::Emit::model, "model", "a bare model file"), clEnumValN(xf::Emit::xf, "xf", "model IR"),
                                       clEnumValN(xf::Emit::fused, "fused", "kernel IR"), clEnumValN(xf::Emit::llvm, "llvm", "LLVM IR"),
                                       clEnumValN(xf::Emit::assembly, "asm", "assembly"), clEnumValN(xf::Emit::ptx, "ptx", "PTX"))};
  xf::Texts at{"at", cl::desc("explain: the size of a dimension, or of batch, source, target (else 1 for the batch, 25)"), cl::value_desc("NAME=N"),
               cl::cat(category)};
  xf::Text target{"target", cl::desc("What to make code for: cpu (default), cuda, or cpu,cuda"), cl::init("cpu"), cl::value_desc("LIST"),
                  cl::cat(category)};
  xf::Choices<Isa> isas{
      "isa", cl::CommaSeparated, cl::desc("Instruction sets of the CPUs to make code for: one or several (default: all)"), cl::cat(category),
      cl::values(clEnumValN(Isa::baseline, "baseline", "x86-64-v2"), clEnumValN(Isa::avx2, "avx2", "x86-64-v3"),
                 clEnumValN(Isa::avx2_vnni, "avx2_vnni", "with AVX-VNNI"), clEnumValN(Isa::avx512, "avx512", "x86-64-v4"),
                 clEnumValN(Isa::avx512_vnni, "avx512_vnni", "with VNNI"), clEnumValN(Isa::avx512_bf16, "avx512_bf16", "with BF16"))};
};

int fail(llvm::StringRef message) {
  if (!message.empty())
    llvm::errs() << "xfc: error: " << message << "\n";
  return 1;
}

/// The same for functions that return whether to go on.
bool refuse(llvm::StringRef message) {
  fail(message);
  return false;
}

/// Reads a file, if one is given; an error names it.
bool readGiven(const std::string &path, std::string &contents) {
  llvm::Error error = path.empty() ? llvm::Error::success() : xf::readFile(path, contents);
  return !error || refuse(llvm::toString(std::move(error)));
}

bool splitAssignment(llvm::StringRef text, llvm::StringRef option, std::pair<std::string, std::string> &out) {
  auto [name, value] = text.split('=');
  if (name.empty() || name.size() == text.size())
    return refuse("--" + option.str() + " " + text.str() + ": expected NAME=VALUE");
  out = {name.str(), value.str()};
  return true;
}

/// Parses NAME=N of an option; N must be positive.
bool splitSize(llvm::StringRef text, llvm::StringRef option, std::pair<std::string, int64_t> &out) {
  std::pair<std::string, std::string> parts;
  if (!splitAssignment(text, option, parts))
    return false;
  out.first = parts.first;
  if (llvm::StringRef(parts.second).getAsInteger(10, out.second) || out.second < 1)
    return refuse("--" + option.str() + " " + text.str() + ": expected a positive number");
  return true;
}

bool collect(const Options &options, xf::FrontendOptions &frontend) {
  frontend.model = options.model;
  frontend.verbose = options.verbose;
  frontend.configName = options.config;
  for (const std::string &text : options.set) {
    if (!splitAssignment(text, "set", frontend.set.emplace_back()))
      return false;
  }
  for (const std::string &text : options.limit)
    if (!splitSize(text, "limit", frontend.limits.emplace_back()))
      return false;
  return readGiven(options.config, frontend.configJson);
}

/// Reads the files that one side's options name.
bool readVocabulary(const xf::VocabularyFiles &files, xf::Vocabulary &vocabulary) {
  auto read = xf::readVocabulary(files);
  if (!read)
    return refuse(llvm::toString(read.takeError()));
  vocabulary = std::move(*read);
  return true;
}

/// Parses a list of devices, separated by commas.
bool parseTargets(const std::string &list, xf::Targets &targets) {
  targets.cpu = targets.cuda = false;
  llvm::SmallVector<llvm::StringRef> names;
  llvm::StringRef(list).split(names, ',');
  for (llvm::StringRef name : names) {
    if (name != "cpu" && name != "cuda")
      return refuse("--target " + list + ": expected cpu, cuda or cpu,cuda");
    (name == "cpu" ? targets.cpu : targets.cuda) = true;
  }
  return true;
}

bool isText(xf::Emit emit) {
  return emit == xf::Emit::xf || emit == xf::Emit::fused || emit == xf::Emit::llvm || emit == xf::Emit::assembly || emit == xf::Emit::ptx;
}

/// What a compilation reads and writes.
struct Files {
  std::vector<std::string> inputs, outputs; // without the depfile
};

/// The files that the options name, and those of the checkpoint.
bool findInputs(const Options &options, std::vector<std::string> &inputs) {
  for (const auto *input : {&options.input, &options.config, &options.sourceVocab, &options.targetVocab, &options.sourceSpm, &options.targetSpm,
                            &options.sourceTokenizer, &options.targetTokenizer})
    if (!input->empty())
      inputs.push_back(*input);
  std::vector<std::string> weights(options.weights.begin(), options.weights.end());
  auto shards = xf::listShards(weights);
  if (!shards)
    return refuse(llvm::toString(shards.takeError()));
  inputs.insert(inputs.end(), weights.begin(), weights.end()); // among them indices, which are no shards
  inputs.insert(inputs.end(), shards->begin(), shards->end());
  return true;
}

/// The output, and the header beside it.
bool findOutputs(const Options &options, std::vector<std::string> &outputs) {
  if (options.output.empty() || options.output == "-")
    return true;
  outputs = {options.output};
  if (options.emit == xf::Emit::so || options.emit == xf::Emit::obj)
    outputs.push_back(xf::headerBeside(options.output));
  if (llvm::is_contained(outputs, options.depfile))
    return refuse(options.depfile + ": the depfile would have an output's name");
  return outputs.size() < 2 || outputs[0] != outputs[1] || refuse(options.output + ": the header beside the output would have its name");
}

/// Checks, before anything is computed, that what is written can be written, and is nothing that is read.
bool canWrite(const Options &options, const Files &files) {
  std::vector<std::string> written = files.outputs;
  if (!options.depfile.empty())
    written.push_back(options.depfile);
  for (const std::string &output : written) {
    if (auto error = xf::checkWritable(output))
      return refuse(llvm::toString(std::move(error)));
    for (const std::string &input : files.inputs)
      if (llvm::sys::fs::is_regular_file(output) && llvm::sys::fs::equivalent(output, input))
        return refuse(output + ": is an input, and would be overwritten");
  }
  return true;
}

/// Whether the input is IR, from which a compilation is resumed.
bool isIR(const Options &options) { return llvm::sys::path::extension(options.input) == ".mlir"; }

/// What code is made for; PTX is for one kind of device only.
bool chooseTargets(const Options &options, xf::Targets &targets) {
  if (!parseTargets(options.target, targets))
    return false;
  if (options.emit == xf::Emit::ptx && options.target.getNumOccurrences() == 0)
    targets.cpu = false, targets.cuda = true;
  if (options.emit == xf::Emit::ptx && !targets.cuda)
    return refuse("--emit=ptx is for --target cuda");
  if (options.isas.empty())
    return true;
  targets.isas.assign(options.isas.begin(), options.isas.end());
  llvm::sort(targets.isas);
  return targets.cpu || refuse("--isa is for the CPU's code, which is not made");
}

/// Refuses options for descriptions if the input is IR, which they cannot change any more.
bool fitsInput(const Options &options) {
  if (!isIR(options))
    return true;
  for (auto [name, given] : {std::pair("set", !options.set.empty()), std::pair("config", !options.config.empty()),
                             std::pair("limit", !options.limit.empty()), std::pair("model", !options.model.empty())})
    if (given)
      return refuse(std::string("--") + name + " is for descriptions (.xf): IR has its parameters and limits");
  return true;
}

/// Refuses IR that is the code that kernel IR became: only kernel IR says what weights and entries there are.
mlir::LogicalResult refuseCode(mlir::ModuleOp module) {
  for (mlir::Operation &op : *module.getBody())
    if (llvm::is_contained({"llvm", "gpu"}, op.getName().getDialectNamespace()))
      return mlir::emitError(op.getLoc(), "this is code already: a compilation is resumed from what comes before it (1-model.mlir to 3-kernel.mlir)");
  return mlir::success();
}

/// The model IR, or the IR that is resumed from; null with a message. What a description imports is added to `files`.
mlir::OwningOpRef<mlir::ModuleOp> readModule(const Options &options, const std::string &text, const xf::FrontendOptions &frontend, Files &files,
                                             mlir::MLIRContext &context) {
  if (!isIR(options)) {
    std::vector<std::string> imported;
    auto module = xf::compileDescription(context, options.input, text, frontend, llvm::errs(), &imported);
    files.inputs.insert(files.inputs.end(), imported.begin(), imported.end());
    return module && canWrite(options, files) ? std::move(module) : nullptr;
  }
  auto module = xf::parseIR(text, context, options.input);
  return module && mlir::succeeded(refuseCode(*module)) ? std::move(module) : nullptr;
}

/// Opens the source of the parameters' values; null if there is none, which is enough for text.
bool openWeights(const Options &options, mlir::ModuleOp module, bool needed, std::unique_ptr<xf::ParameterSource> &source) {
  auto listOf = [](const xf::Texts &texts) { return std::vector<std::string>(texts.begin(), texts.end()); };
  std::vector<std::string> weights = listOf(options.weights);
  bool isRandom = options.random.getNumOccurrences();
  if (!weights.empty() && isRandom)
    return refuse("give either --weights or --random-weights");
  if (!weights.empty()) {
    auto checkpoint = xf::Checkpoint::open(weights, module, listOf(options.ignore));
    if (!checkpoint)
      return refuse(llvm::toString(checkpoint.takeError()));
    source = std::move(*checkpoint);
  } else if (isRandom || llvm::all_of(module.getOps<mlir::xf::ParameterOp>(), [](auto parameter) { return parameter.isTable(); })) {
    source = std::make_unique<xf::RandomWeights>(options.random); // which computes tables
  } else if (needed) {
    return refuse("without --weights or --random-weights only --emit=xf, fused, llvm, asm and ptx are possible");
  }
  return true;
}

/// The prebuilt carriers are installed beside this program.
void findCarriers(const char *program, xf::CompileOptions &compile) {
  std::string self = llvm::sys::fs::getMainExecutable(program, reinterpret_cast<void *>(&findCarriers));
  llvm::SmallString<256> runner(llvm::sys::path::parent_path(self)), library(runner);
  llvm::sys::path::append(runner, "xf-runner");
  llvm::sys::path::append(library, "..", "lib", "libxf-runtime.so");
  compile.runner = runner.str().str();
  compile.library = library.str().str();
}

/// Weights do not change what is explained: where none are given, any will do.
int runExplain(const Options &options, mlir::ModuleOp module, std::unique_ptr<xf::ParameterSource> source, llvm::StringRef text,
               const xf::CompileOptions &compile) {
  xf::RequestedSizes sizes;
  for (const std::string &at : options.at)
    if (!splitSize(at, "at", sizes.emplace_back()))
      return 1;
  if (!source)
    source = std::make_unique<xf::RandomWeights>(1);
  if (auto error = xf::explainModel(module, *source, compile, xf::SourceText(options.input, text), sizes))
    return fail(llvm::toString(std::move(error)));
  return 0;
}

/// Checks the options that a command needs, or does not have.
bool fitsCommand(const Options &options, bool explains) {
  if (!explains && options.output.empty())
    return refuse("-o says which file to write");
  if (!explains && options.output == "-" && !isText(options.emit))
    return refuse("only text goes to standard output; -o needs a file for this kind of output");
  if (!explains && !options.at.empty())
    return refuse("--at is for xfc explain");
  if (!options.depfile.empty() && (explains || options.output == "-"))
    return refuse("--depfile is for an output that is a file");
  if (!options.ignore.empty() && options.weights.empty())
    return refuse("--ignore is for the tensors of --weights");
  if (explains && options.emit.getNumOccurrences())
    return refuse("explain writes text of its own: --emit is for compiling");
  return !explains || !isIR(options) || refuse("explain is for descriptions (.xf), whose words it uses");
}

/// Runs the command; returns the exit status.
int run(const Options &options, bool explains, const char *program, mlir::MLIRContext &context) {
  xf::FrontendOptions frontend;
  xf::CompileOptions compile;
  std::string text;
  Files files;
  if (!fitsCommand(options, explains) || !chooseTargets(options, compile.targets) || !fitsInput(options) || !findInputs(options, files.inputs) ||
      !findOutputs(options, files.outputs) || !canWrite(options, files) || !collect(options, frontend) || !readGiven(options.input, text) ||
      !readVocabulary({"source", options.sourceVocab, options.sourceSpm, options.sourceTokenizer}, compile.source) ||
      !readVocabulary({"target", options.targetVocab, options.targetSpm, options.targetTokenizer}, compile.target))
    return 1;

  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(text, options.input), {});
  mlir::SourceMgrDiagnosticHandler handler(sources, &context);
  context.printOpOnDiagnostic(isIR(options)); // a description's author has the location, and knows no operations
  auto module = readModule(options, text, frontend, files, context);
  if (!module)
    return 1;

  compile.emit = options.emit;
  compile.type = options.type;
  compile.output = options.output;
  compile.dumpPhases = options.dumpPhases;
  findCarriers(program, compile);
  // Before weights are read, which may take long.
  if (auto error = xf::checkOptions(*module, compile))
    return fail(llvm::toString(std::move(error)));
  if (std::string difference = xf::compareAffixes(*module, compile.source); !difference.empty())
    llvm::errs() << "xfc: note: " << options.sourceTokenizer << " " << difference << "\n";
  std::unique_ptr<xf::ParameterSource> source;
  if (!openWeights(options, *module, !isText(options.emit) && !explains, source))
    return 1;
  if (explains) {
    compile.output = options.output.empty() ? std::string("-") : options.output.getValue();
    return runExplain(options, *module, std::move(source), text, compile);
  }
  if (auto error = xf::compile(*module, source.get(), compile))
    return fail(llvm::toString(std::move(error)));
  if (auto error = options.depfile.empty() ? llvm::Error::success() : xf::writeDepfile(options.depfile, files.outputs, files.inputs))
    return fail(llvm::toString(std::move(error)));
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  xf::failAtLimits();
  xf::removeForeignOptions();
  Options options;
  cl::HideUnrelatedOptions(options.category);
  cl::SetVersionPrinter([](llvm::raw_ostream &os) { os << "xfc " XF_VERSION "\n"; });
  // The one command: all else is options and a file.
  bool explains = argc > 1 && llvm::StringRef(argv[1]) == "explain";
  if (explains)
    std::rotate(argv + 1, argv + 2, argv + argc--);
  cl::ParseCommandLineOptions(argc, argv,
                              "Compiles Transformer models to native programs.\n\n"
                              "xfc explain DESCRIPTION.xf, with the same options, prints what was fused, what was not, and what it costs.\n");

  mlir::DialectRegistry registry;
  xf::registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  return run(options, explains, argv[0], context);
}
