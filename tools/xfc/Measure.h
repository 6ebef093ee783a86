// Times of the kernels that an explanation lists, measured where xfc runs.
#ifndef XF_TOOLS_XFC_MEASURE_H
#define XF_TOOLS_XFC_MEASURE_H

#include "compiler/Explain/Explanation.h"

namespace xf {

/// Calls each entry of a compiled model file several times with one thread, on tokens and numbers that mean nothing, and notes the
/// median time of each kernel's calls. Returns what it was measured on, for print().
llvm::Expected<std::string> measure(const std::string &modelFile, Explanation &explanation);

} // namespace xf

#endif // XF_TOOLS_XFC_MEASURE_H
