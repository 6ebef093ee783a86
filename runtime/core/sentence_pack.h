// What an entry of kind PACKED is told of its sentences: their tokens behind each other, and where each begins.
#ifndef RUNTIME_CORE_SENTENCE_PACK_H
#define RUNTIME_CORE_SENTENCE_PACK_H

#include "runtime/core/arena.h"
#include "runtime/core/model.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace xf::rt {

class sentence_pack {
public:
  // For calls of `entry` on `batch` sentences of `source` tokens at most; null: there is no such entry, and no memory is taken.
  sentence_pack(const entry_info *entry, int64_t batch, int64_t source, arena_plan &plan);
  void bind(const arena &memory);

  bool is_present() const { return dim_ >= 0; }
  // The number of the dimension of all tokens.
  int dim() const { return dim_; }

  void clear() { count_ = tokens_in_all_ = 0; }
  // A sentence of `length` tokens: its own, and padding behind them.
  void add(std::span<const int32_t> ids, int64_t length, int32_t pad);
  int64_t tokens() const { return tokens_in_all_; }
  // Of sentence b: its first token.
  int64_t first(int64_t b) const { return spans_[2 * b]; }
  // The array for the entry's input of this name; null for other inputs.
  void *argument(std::string_view name) const;

private:
  int dim_ = -1;
  uint64_t tokens_place_ = 0, positions_place_ = 0, spans_place_ = 0;
  int32_t *tokens_ = nullptr, *positions_ = nullptr, *spans_ = nullptr;
  int64_t count_ = 0, tokens_in_all_ = 0;
};

} // namespace xf::rt

#endif
