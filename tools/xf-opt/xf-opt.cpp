// xf-opt: mlir-opt for the xf dialect.
#include "compiler/Pipelines/Pipelines.h"
#include "tools/common/Registration.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/CommandLine.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  xf::registerDialects(registry);
  mlir::registerTransformsPasses();
  xf::registerPipelines();
  llvm::cl::SetVersionPrinter([](llvm::raw_ostream &os) { os << "xf-opt " XF_VERSION "\n"; });
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "xf optimizer driver\n", registry));
}
