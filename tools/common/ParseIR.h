// Parsing of untrusted IR.
#ifndef XF_TOOLS_COMMON_PARSEIR_H
#define XF_TOOLS_COMMON_PARSEIR_H

#include "compiler/Support/Nesting.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBufferRef.h"

namespace xf {

/// Parses `text`, of the file `name`; null, with a message, if it is no module.
inline mlir::OwningOpRef<mlir::ModuleOp> parseIR(llvm::StringRef text, mlir::MLIRContext &context, llvm::StringRef name) {
  // MLIR recurses into nested brackets when it parses, verifies and prints.
  constexpr unsigned maxDepth = 500;
  auto position = mlir::isBytecode(llvm::MemoryBufferRef(text, name)) ? std::nullopt : findDeepNesting(text, maxDepth);
  if (!position)
    return mlir::parseSourceString<mlir::ModuleOp>(text, &context, name);
  // Not as a diagnostic, which shows the line: it may be all of the file.
  llvm::errs() << name << ":" << position->line << ":" << position->column << ": error: more than " << maxDepth
               << " brackets stand within each other\n";
  return nullptr;
}

} // namespace xf

#endif // XF_TOOLS_COMMON_PARSEIR_H
