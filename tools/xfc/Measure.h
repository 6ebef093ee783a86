// Times of the kernels that an explanation lists, measured where xfc runs.
#ifndef XF_TOOLS_XFC_MEASURE_H
#define XF_TOOLS_XFC_MEASURE_H

#include "compiler/Explain/Explanation.h"
#include "compiler/Pipelines/Compile.h"

namespace xf {

/// The one of these instruction sets, ascending, whose code measure() would run on this CPU: it needs no other. Fails if the CPU has none of them.
llvm::Expected<codegen::Isa> measuredIsa(llvm::ArrayRef<codegen::Isa> isas);

/// Calls each entry of a compiled model file several times with one thread, on tokens and numbers that mean nothing, and notes the
/// median time of each kernel's calls. Returns what it was measured on, for print().
llvm::Expected<std::string> measure(const std::string &modelFile, Explanation &explanation);

} // namespace xf

#endif // XF_TOOLS_XFC_MEASURE_H
