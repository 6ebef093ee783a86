// xfc explain: what becomes of a description, in its own words, and what it costs.
#ifndef XF_TOOLS_XFC_EXPLAINMODEL_H
#define XF_TOOLS_XFC_EXPLAINMODEL_H

#include "compiler/Explain/Explanation.h"
#include "compiler/Pipelines/Compile.h"

namespace xf {

/// Compiles model IR as `options` say, to a temporary file, measures it if it has code for CPUs, and writes the explanation to
/// options.output ('-': standard output).
llvm::Error explainModel(mlir::ModuleOp module, ParameterSource &parameters, const CompileOptions &options, const SourceText &source,
                         const RequestedSizes &sizes);

} // namespace xf

#endif // XF_TOOLS_XFC_EXPLAINMODEL_H
