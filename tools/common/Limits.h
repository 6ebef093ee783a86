// What our tools do when the system gives them no more.
#ifndef XF_TOOLS_COMMON_LIMITS_H
#define XF_TOOLS_COMMON_LIMITS_H

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Signals.h"

#include <csignal>

#include <unistd.h>

namespace xf {

/// No memory: an error and status 1, without what was written so far, where LLVM would report a crash of its own. The limit of a file's
/// size is an error of writing like any other. After InitLLVM.
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
