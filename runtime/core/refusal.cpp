#include "runtime/core/refusal.h"

#include <cstdio>

namespace xf::rt {

const char *refusal::too_few_tokens(int64_t count, int64_t min_count) {
  std::snprintf(text_, sizeof(text_), "it has %lld token%s; at least %lld are needed", static_cast<long long>(count), count == 1 ? "" : "s",
                static_cast<long long>(min_count));
  return text_;
}

const char *refusal::too_long(const char *what, int64_t count, int64_t max_count) {
  std::snprintf(text_, sizeof(text_), "%s has %lld tokens; at most %lld are possible", what, static_cast<long long>(count),
                static_cast<long long>(max_count));
  return text_;
}

const char *refusal::unknown_token(std::span<const int32_t> ids, int64_t bound, const char *where) {
  for (int32_t id : ids)
    if (id < 0 || (bound > 0 && id >= bound)) {
      if (bound > 0)
        std::snprintf(text_, sizeof(text_), "%sthere is no token %d; the last is %lld", where, id, static_cast<long long>(bound) - 1);
      else
        std::snprintf(text_, sizeof(text_), "%sthere is no token %d: tokens are not negative", where, id);
      return text_;
    }
  return nullptr;
}

} // namespace xf::rt
