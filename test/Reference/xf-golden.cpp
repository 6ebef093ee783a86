// A description, a checkpoint and golden numbers, through the frontend and the interpreter alone. For tests.
//   xf-golden FILE.xf --weights FILE | --random-weights SEED [--config FILE] [--model NAME] [--set NAME=VALUE]…
//             [--limit NAME=N]… [--ignore PATTERN]… --golden FILE [--rtol X] [--precision f32|f64] [--ir FILE.mlir]
// With --ir the module is read from a file instead of a description. Status 0: all tensors agree.
#include "compiler/Frontend/Frontend.h"
#include "compiler/Import/Checkpoint.h"
#include "compiler/Import/RandomWeights.h"
#include "compiler/Reference/ReferenceEngine.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace xf;

namespace {
struct Arguments {
  FrontendOptions frontend;
  std::string file, ir, weights, golden;
  std::vector<std::string> ignore;
  std::optional<uint64_t> seed;
  Precision precision = Precision::F64;
  GoldenOptions compare;
};

[[noreturn]] void fail(llvm::StringRef message) {
  llvm::errs() << "xf-golden: " << message << '\n';
  exit(2);
}

std::string readFile(llvm::StringRef name) {
  auto buffer = llvm::MemoryBuffer::getFile(name);
  if (!buffer)
    fail(name.str() + ": " + buffer.getError().message());
  return (*buffer)->getBuffer().str();
}

Arguments parseArguments(int argc, char **argv) {
  Arguments args;
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef arg = argv[i];
    if (!arg.starts_with("--")) {
      args.file = arg.str();
      continue;
    }
    if (i + 1 == argc)
      fail("a value is missing after " + arg.str());
    llvm::StringRef value = argv[++i];
    auto [name, text] = value.split('=');
    if (arg == "--model")
      args.frontend.model = value.str();
    else if (arg == "--set")
      args.frontend.set.push_back({name.str(), text.str()});
    else if (arg == "--limit")
      args.frontend.limits.push_back({name.str(), std::stoll(text.str())});
    else if (arg == "--config")
      args.frontend.configJson = readFile(value), args.frontend.configName = value.str();
    else if (arg == "--weights")
      args.weights = value.str();
    else if (arg == "--random-weights")
      args.seed = std::stoull(value.str());
    else if (arg == "--ignore")
      args.ignore.push_back(value.str());
    else if (arg == "--golden")
      args.golden = value.str();
    else if (arg == "--rtol")
      args.compare.rtol = std::stod(value.str());
    else if (arg == "--precision")
      args.precision = value == "f32" ? Precision::F32 : Precision::F64;
    else if (arg == "--ir")
      args.ir = value.str();
    else
      fail("unknown option " + arg.str());
  }
  return args;
}
} // namespace

int main(int argc, char **argv) {
  Arguments args = parseArguments(argc, argv);
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<mlir::xf::XfDialect, mlir::arith::ArithDialect, mlir::math::MathDialect>();
  mlir::OwningOpRef<mlir::ModuleOp> module =
      args.ir.empty() ? compileDescription(context, args.file, readFile(args.file), args.frontend, llvm::errs())
                      : mlir::parseSourceFile<mlir::ModuleOp>(args.ir, &context);
  if (!module)
    return 2;
  std::unique_ptr<ParameterSource> source;
  if (args.seed) {
    source = std::make_unique<RandomWeights>(*args.seed);
  } else {
    auto checkpoint = Checkpoint::open(args.weights, *module, args.ignore);
    if (!checkpoint)
      fail(llvm::toString(checkpoint.takeError()));
    source = std::move(*checkpoint);
  }
  ReferenceEngine engine(*module, *source, args.precision);
  auto report = runGolden(engine, args.golden, args.compare);
  if (!report)
    fail(llvm::toString(report.takeError()));
  llvm::outs() << report->format();
  return report->passed() ? 0 : 1;
}
