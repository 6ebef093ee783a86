// The tokens of a call on sentences of different lengths: padded to the longest, and for entries of kind PACKED behind each other.
#ifndef RUNTIME_CORE_SENTENCE_PACK_H
#define RUNTIME_CORE_SENTENCE_PACK_H

#include "runtime/core/arena.h"
#include "runtime/core/model.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

namespace xf::rt {

class sentence_pack {
public:
  // `entry`: the number of a PACKED entry, or -1 where there is none; then tokens are padded alone, and no memory is taken.
  sentence_pack(const model &m, int32_t entry, arena_plan &plan);
  void bind(const arena &memory);

  // Null where there is none.
  const entry_info *entry() const { return entry_; }

  // Lays out `count` sentences, of which ids(b) gives the tokens, and what they count of dimensions. `lengths` are descending;
  // behind a sentence's own tokens is padding. `padded` is the entries' input [B, S], or [S, B].
  template <typename F>
  void lay_out(int64_t count, const int32_t *lengths, int32_t pad, int32_t *padded, int64_t *dims, F ids) {
    start(count, lengths[0], dims);
    for (int64_t b = 0; b < count; ++b)
      add(b, ids(b), lengths[b], std::max(pad, 0), padded);
    if (entry_)
      dims[dim_] = tokens_in_all_;
  }
  // The same of the tokens' types: 0 for the first first(b) of each sentence, 1 for those behind.
  template <typename F> void lay_out_types(int64_t count, const int32_t *lengths, int32_t *padded, F first) {
    for (int64_t b = 0; b < count; ++b)
      add_types(b, first(b), lengths[b], padded);
  }
  // Where an entry that gives a row for each token has those of sentence b: the first, and how far it is to the next.
  int64_t first_row(int64_t b) const { return entry_ ? spans_[2 * b] : sequence_first_ ? b : b * longest_; }
  int64_t row_step() const { return sequence_first_ ? count_ : 1; }
  // The array for the PACKED entry's input of this name; null for other inputs.
  void *argument(std::string_view name) const;

private:
  void start(int64_t count, int64_t longest, int64_t *dims);
  void add(int64_t b, std::span<const int32_t> ids, int64_t length, int32_t pad, int32_t *padded);
  void add_types(int64_t b, int64_t first, int64_t length, int32_t *padded);
  int64_t place(int64_t b, int64_t position) const { return sequence_first_ ? position * count_ + b : b * longest_ + position; }

  const entry_info *entry_;
  int batch_dim_, source_dim_, dim_ = -1; // `dim_`: of all tokens
  bool sequence_first_, has_types_ = false;
  uint64_t tokens_place_ = 0, positions_place_ = 0, spans_place_ = 0, types_place_ = 0;
  int32_t *tokens_ = nullptr, *positions_ = nullptr, *spans_ = nullptr, *types_ = nullptr;
  int64_t count_ = 0, longest_ = 0, tokens_in_all_ = 0;
};

} // namespace xf::rt

#endif
