// Parsing of small modules for tests.
#ifndef XF_TEST_IMPORT_MODULES_H
#define XF_TEST_IMPORT_MODULES_H

#include "dialect/IR/Xf.h"

#include "mlir/Parser/Parser.h"

struct Modules {
  mlir::MLIRContext context;
  Modules() { context.loadDialect<mlir::xf::XfDialect, mlir::arith::ArithDialect, mlir::math::MathDialect>(); }
  mlir::OwningOpRef<mlir::ModuleOp> parse(llvm::StringRef text) { return mlir::parseSourceString<mlir::ModuleOp>(text, &context); }
};

#endif // XF_TEST_IMPORT_MODULES_H
