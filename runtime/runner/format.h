// Text as printf makes it.
#ifndef RUNTIME_RUNNER_FORMAT_H
#define RUNTIME_RUNNER_FORMAT_H

#include <cstdarg>
#include <cstdio>
#include <string>

namespace xf::rt {

// At most 1023 characters at a time.
__attribute__((format(printf, 2, 3))) inline void append(std::string &text, const char *format, ...) {
  char line[1024];
  va_list list;
  va_start(list, format);
  std::vsnprintf(line, sizeof(line), format, list);
  va_end(list);
  text += line;
}

} // namespace xf::rt

#endif
