#include "runtime/core/error.h"

#include <cstdarg>
#include <cstdio>

namespace xf::rt {

void fail(status code, const char *format, ...) {
  va_list list;
  va_start(list, format);
  va_list again;
  va_copy(again, list);
  int length = std::vsnprintf(nullptr, 0, format, list);
  va_end(list);
  std::string message(length > 0 ? length : 0, '\0');
  std::vsnprintf(message.data(), message.size() + 1, format, again);
  va_end(again);
  throw error(code, message);
}

} // namespace xf::rt
