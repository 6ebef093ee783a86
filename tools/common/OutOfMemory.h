// What our tools do when memory is out.
#ifndef XF_TOOLS_COMMON_OUTOFMEMORY_H
#define XF_TOOLS_COMMON_OUTOFMEMORY_H

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Signals.h"

#include <unistd.h>

namespace xf {

/// An error and status 1, without what was written so far, where LLVM would report a crash of its own. After InitLLVM.
inline void failWithoutMemory() {
  llvm::install_bad_alloc_error_handler([](void *, const char *, bool) {
    constexpr char message[] = "error: out of memory\n";
    [[maybe_unused]] ssize_t written = write(STDERR_FILENO, message, sizeof(message) - 1);
    llvm::sys::RunInterruptHandlers();
    _exit(1);
  });
}

} // namespace xf

#endif // XF_TOOLS_COMMON_OUTOFMEMORY_H
