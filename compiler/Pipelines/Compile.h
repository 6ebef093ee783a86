// A whole compilation, from model IR to an artefact.
#ifndef XF_COMPILER_PIPELINES_COMPILE_H
#define XF_COMPILER_PIPELINES_COMPILE_H

#include "compiler/Conversion/XfToLLVM/Plan.h"
#include "compiler/Import/ParameterSource.h"
#include "compiler/Pipelines/Pipelines.h"
#include "compiler/Target/Link/Vocabularies.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

#include <functional>

namespace xf {

/// What to write: an artefact, or the compilation's state after a phase.
enum class Emit { exe, so, obj, model, xf, fused, llvm, assembly, ptx };

struct CompileOptions {
  Emit emit = Emit::exe;
  FactorType type = FactorType::f32;
  Targets targets;
  std::string output;
  std::string dumpPhases; // a folder; empty: none
  Vocabulary source, target;
  std::string runner, library;                    // the prebuilt program and library
  /// Called with kernel IR and its code before anything is written; compile() returns its error.
  std::function<llvm::Error(mlir::ModuleOp, const CodeModule &)> inspect;
};

/// Checks what needs no weights. compile() does so as well.
llvm::Error checkOptions(mlir::ModuleOp module, const CompileOptions &options);

/// Compiles `module`: model IR, or IR with a derived step or kernel IR if its phase says so. `source` may be null for kinds that are text
/// (Emit::xf, fused, llvm, assembly and ptx). Diagnostics of passes go to the context's handler and give an error without text.
llvm::Error compile(mlir::ModuleOp module, ParameterSource *source, const CompileOptions &options);

} // namespace xf

#endif // XF_COMPILER_PIPELINES_COMPILE_H
