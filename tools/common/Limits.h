// What our tools do when they reach the system's limits.
#ifndef XF_TOOLS_COMMON_LIMITS_H
#define XF_TOOLS_COMMON_LIMITS_H

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Signals.h"

#include <csignal>

#include <unistd.h>

namespace xf {

/// Without memory, a tool ends with an error and status 1, and removes what it has written, where LLVM would report a crash. The limit of a
/// file's size becomes an error of writing like any other. To be called after InitLLVM.
inline void failAtLimits() {
  llvm::install_bad_alloc_error_handler([](void *, const char *, bool) {
    constexpr char message[] = "error: out of memory\n";
    [[maybe_unused]] ssize_t written = write(STDERR_FILENO, message, sizeof(message) - 1);
    llvm::sys::RunInterruptHandlers();
    _exit(1);
  });
  std::signal(SIGXFSZ, SIG_IGN);
}

} // namespace xf

#endif // XF_TOOLS_COMMON_LIMITS_H
