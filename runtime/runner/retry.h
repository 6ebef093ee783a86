// For reads and writes that a signal interrupts, or that another process which shares the file has made non-blocking.
#ifndef RUNTIME_RUNNER_RETRY_H
#define RUNTIME_RUNNER_RETRY_H

#include <cerrno>

#include <poll.h>

namespace xf::rt {

// Whether the call on `file` that has just failed is to be made again, by errno; returns when it can be.
inline bool should_retry(int file, short event) {
  if (errno == EINTR)
    return true;
  if (errno != EAGAIN && errno != EWOULDBLOCK)
    return false;
  pollfd waiting{file, event, 0};
  return poll(&waiting, 1, -1) >= 0 || errno == EINTR;
}

} // namespace xf::rt

#endif
