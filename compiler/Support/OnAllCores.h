// Work that is shared among the cores of the machine.
#ifndef XF_COMPILER_SUPPORT_ONALLCORES_H
#define XF_COMPILER_SUPPORT_ONALLCORES_H

#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstddef>

namespace xf {

/// Runs `work` in this thread and in others beside it, one a core and `most` in all; fewer where the system gives no more. Returns when all
/// have returned.
void onAllCores(size_t most, llvm::function_ref<void()> work);

} // namespace xf

#endif // XF_COMPILER_SUPPORT_ONALLCORES_H
