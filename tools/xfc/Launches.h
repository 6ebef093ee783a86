// Counts the launches of kernels on a GPU, without one.
#ifndef XF_TOOLS_XFC_LAUNCHES_H
#define XF_TOOLS_XFC_LAUNCHES_H

#include "compiler/Explain/Explanation.h"

namespace xf {

/// Calls each entry of a compiled model file on a device that notes what is launched, and does nothing.
llvm::Error countLaunches(const std::string &modelFile, Explanation &explanation);

} // namespace xf

#endif // XF_TOOLS_XFC_LAUNCHES_H
