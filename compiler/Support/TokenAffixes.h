// The tokens around a text.
#ifndef XF_COMPILER_SUPPORT_TOKENAFFIXES_H
#define XF_COMPILER_SUPPORT_TOKENAFFIXES_H

#include <cstdint>
#include <vector>

namespace xf {

struct TokenAffixes {
  std::vector<int64_t> before, after;
};

} // namespace xf

#endif // XF_COMPILER_SUPPORT_TOKENAFFIXES_H
