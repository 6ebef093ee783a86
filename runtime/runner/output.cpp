#include "runtime/runner/output.h"

#include "runtime/core/error.h"
#include "runtime/runner/retry.h"
#include "runtime/text/utf8.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <unistd.h>

namespace xf::rt {

void output::flush() {
  size_t done = 0;
  while (done < buffer_.size()) {
    ssize_t n = ::write(STDOUT_FILENO, buffer_.data() + done, buffer_.size() - done);
    if (n < 0 && should_retry(STDOUT_FILENO, POLLOUT))
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

size_t breaking_length(std::string_view text, size_t at) {
  size_t length = utf8_length(text, at);
  if (length == 0) // in the middle of a character
    return 0;
  uint32_t point = utf8_point(text, at, length);
  bool breaks = point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x2028 || point == 0x2029;
  return breaks ? length : 0;
}

std::string json_string(std::string_view text) {
  std::string result = "\"";
  for (size_t at = 0; at < text.size();) {
    if (size_t length = breaking_length(text, at)) {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\u%04x", static_cast<unsigned>(utf8_point(text, at, length)));
      result += escape;
      at += length;
      continue;
    }
    if (text[at] == '"' || text[at] == '\\')
      result += '\\';
    result += text[at++];
  }
  return result + "\"";
}

} // namespace xf::rt
