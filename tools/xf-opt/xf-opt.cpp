// xf-opt: mlir-opt for the xf dialect.
#include "compiler/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::xf::XfDialect, mlir::arith::ArithDialect, mlir::math::MathDialect, mlir::func::FuncDialect>();
  mlir::registerTransformsPasses();
  xf::registerXfPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "xf optimizer driver\n", registry));
}
