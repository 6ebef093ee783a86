// Work that is shared among the cores of the machine.
#ifndef XF_COMPILER_SUPPORT_ONALLCORES_H
#define XF_COMPILER_SUPPORT_ONALLCORES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstddef>

namespace xf {

/// Runs `work` in this thread and in others beside it, one a core and `maxThreads` in all; fewer where the system gives no more. Returns when all
/// have returned.
void onAllCores(size_t maxThreads, llvm::function_ref<void()> work);

/// Calls `work` with the index of each piece, of these sizes, on all cores: the largest first, so that none is left for one core alone at the end.
void onAllCores(llvm::ArrayRef<size_t> sizes, llvm::function_ref<void(size_t piece)> work);

} // namespace xf

#endif // XF_COMPILER_SUPPORT_ONALLCORES_H
