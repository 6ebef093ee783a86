// xf-lsp-server: what an editor asks of IR in the xf dialect (diagnostics, definitions, uses), by the language server protocol.
#include "tools/common/Registration.h"

#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  xf::registerDialects(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
