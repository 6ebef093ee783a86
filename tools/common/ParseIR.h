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
  constexpr unsigned most = 500;
  auto place = mlir::isBytecode(llvm::MemoryBufferRef(text, name)) ? std::nullopt : findDeepNesting(text, most);
  if (!place)
    return mlir::parseSourceString<mlir::ModuleOp>(text, &context, name);
  // Not as a diagnostic, which shows the line: it may be all of the file.
  llvm::errs() << name << ":" << place->line << ":" << place->column << ": error: more than " << most << " brackets stand within each other\n";
  return nullptr;
}

} // namespace xf

#endif // XF_TOOLS_COMMON_PARSEIR_H
