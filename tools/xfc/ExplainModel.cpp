#include "tools/xfc/ExplainModel.h"

#include "compiler/Import/Error.h"
#include "compiler/Import/WriteFile.h"
#include "tools/xfc/Launches.h"
#include "tools/xfc/Measure.h"

#include "llvm/Support/Path.h"

namespace xf {

llvm::Error explainModel(mlir::ModuleOp module, ParameterSource &parameters, const CompileOptions &options, const SourceText &source,
                         const RequestedSizes &sizes) {
  llvm::SmallString<128> prefix;
  llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, prefix);
  llvm::sys::path::append(prefix, "xfc-explain-");
  std::error_code code;
  TemporaryFile file(prefix, ".model", code);
  if (code)
    return makeError("no temporary file can be made: {}", code.message());
  Explanation explanation;
  CompileOptions compile = options;
  compile.emit = Emit::model;
  compile.output = file.path();
  if (compile.targets.cpu) {
    auto isa = measuredIsa(options.targets.isas);
    if (!isa)
      return isa.takeError();
    compile.targets.isas = {*isa};
  }
  compile.inspect = [&](mlir::ModuleOp kernelIR, const CodeModule &code) -> llvm::Error {
    auto explained = explain(kernelIR, code, source, sizes);
    if (!explained)
      return explained.takeError();
    explanation = std::move(*explained);
    return llvm::Error::success();
  };
  if (auto error = xf::compile(module, &parameters, compile))
    return error;
  std::string machine;
  if (options.targets.cpu) {
    auto measured = measure(compile.output, explanation);
    if (!measured)
      return measured.takeError();
    machine = std::move(*measured);
  }
  if (options.targets.cuda)
    if (auto error = countLaunches(compile.output, explanation))
      return error;
  auto write = [&](llvm::raw_ostream &out) {
    print(explanation, machine, out);
    return llvm::Error::success();
  };
  return options.output == "-" ? writeStdout(write) : writeFile(options.output, /*executable=*/false, write);
}

} // namespace xf
