// The frontend: a model description's text to the model IR of the xf dialect.
#ifndef XF_COMPILER_FRONTEND_FRONTEND_H
#define XF_COMPILER_FRONTEND_FRONTEND_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <utility>
#include <vector>

namespace xf {

struct FrontendOptions {
  /// The model or block to compile; empty: the last model of the file.
  std::string model;
  /// `--set NAME=VALUE`.
  std::vector<std::pair<std::string, std::string>> set;
  /// The contents of the `--config` file (empty: none) and its name, for messages.
  std::string configJson, configName;
  /// `--limit NAME=N`.
  std::vector<std::pair<std::string, int64_t>> limits;
  bool verbose = false;
};

/// Parses and evaluates a description; diagnostics go to `diagnostics`. Null on error. `imported`, if not null, gets the paths of the files that
/// it imports.
mlir::OwningOpRef<mlir::ModuleOp> compileDescription(mlir::MLIRContext &context, llvm::StringRef fileName, llvm::StringRef text,
                                                     const FrontendOptions &options, llvm::raw_ostream &diagnostics,
                                                     std::vector<std::string> *imported = nullptr);

} // namespace xf

#endif // XF_COMPILER_FRONTEND_FRONTEND_H
