// Rows of tokens, as callers have them.
#ifndef RUNTIME_CORE_TOKEN_ROWS_H
#define RUNTIME_CORE_TOKEN_ROWS_H

#include <cstdint>
#include <span>

namespace xf::rt {

// Behind each other: row i is ids[offsets[i]] to ids[offsets[i + 1]].
struct token_rows {
  const int32_t *ids = nullptr;
  const int64_t *offsets = nullptr;
  int64_t count = 0;

  std::span<const int32_t> row(int64_t i) const { return {ids + offsets[i], static_cast<size_t>(offsets[i + 1] - offsets[i])}; }
};

} // namespace xf::rt

#endif
