#include "runtime/runner/output.h"

#include "runtime/core/error.h"
#include "runtime/runner/again.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <unistd.h>

namespace xf::rt {

void output::flush() {
  size_t done = 0;
  while (done < buffer_.size()) {
    ssize_t n = ::write(STDOUT_FILENO, buffer_.data() + done, buffer_.size() - done);
    if (n < 0 && is_worth_another_try(STDOUT_FILENO, POLLOUT))
      continue;
    if (n < 0) {
      int problem = errno;
      buffer_.clear();
      fail(status::io, "standard output: %s", std::strerror(problem));
    }
    done += static_cast<size_t>(n);
  }
  buffer_.clear();
}

void output::close() {
  flush();
  if (::close(STDOUT_FILENO) != 0 && errno != EBADF)
    fail(status::io, "standard output: %s", std::strerror(errno));
}

std::string json_string(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\u%04x", static_cast<unsigned>(c));
      result += escape;
    } else {
      result += c;
    }
  }
  return result + "\"";
}

} // namespace xf::rt
