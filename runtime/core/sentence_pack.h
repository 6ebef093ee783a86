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

// What lies in front of a call's sentences, where calls of the same time are laid out behind each other: how many sentences and tokens, and
// in padded tensors `longest` tokens for each sentence.
struct pack_offset {
  int64_t sentences = 0, tokens = 0, longest = 0;
};

class sentence_pack {
public:
  // `entry`: the index of a PACKED entry, or -1 where there is none; then tokens are padded alone, and no memory is taken.
  sentence_pack(const model &m, int32_t entry, arena_plan &plan);
  void bind(const arena &memory);

  // Null where there is none.
  const entry_info *entry() const { return entry_; }

  // Lays out `count` sentences, of which ids(b) gives the tokens, and sets the dimensions that they determine. `lengths` are descending;
  // behind a sentence's own tokens is padding. `padded` is the entries' input [B, S], or [S, B], from the call's first sentence on.
  template <typename F>
  void lay_out(const pack_offset &offset, int64_t count, const int32_t *lengths, int32_t pad, int32_t *padded, int64_t *dims, F ids) const {
    int64_t tokens = 0;
    for (int64_t b = 0; b < count; ++b) {
      add(offset, {b, count, lengths[0], lengths[b], tokens}, ids(b), std::max(pad, 0), padded);
      tokens += lengths[b];
    }
    set_dims(count, lengths[0], tokens, dims);
  }
  // The same of the tokens' types, behind lay_out: 0 for the first first(b) of each sentence, 1 for those behind.
  template <typename F> void lay_out_types(const pack_offset &offset, int64_t count, const int32_t *lengths, int32_t *padded, F first) const {
    int64_t tokens = 0;
    for (int64_t b = 0; b < count; ++b) {
      add_types(offset, {b, count, lengths[0], lengths[b], tokens}, first(b), padded);
      tokens += lengths[b];
    }
  }
  // Where a result with a row for each token has those of sentence b of a call: the first, and how far it is to the next.
  int64_t first_row(const pack_offset &offset, int64_t b, int64_t longest) const {
    return entry_ ? offset.tokens + spans_[2 * (offset.sentences + b)] : sequence_first_ ? b : b * longest;
  }
  int64_t row_step(int64_t count) const { return sequence_first_ ? count : 1; }
  // The array for the PACKED entry's input of this name; null for other inputs.
  void *argument(std::string_view name) const;

  // Whether calls of the entry can go on at the same time: it is PACKED, and a call's part of each tensor lies behind those of others.
  bool has_parts(const entry_info &entry) const;
  // Forgets how many tokens there were in all, for entries that do not ask: their sizes are then the same whatever the sentences' lengths.
  void clear_tokens(int64_t *dims) const {
    if (entry_)
      dims[dim_] = 0;
  }
  // Sets the dimensions to what is in front: a tensor's bytes are then where the call's part begins.
  void set_offset_dims(const pack_offset &offset, int64_t *dims) const { set_dims(offset.sentences, offset.longest, offset.tokens, dims); }

private:
  struct location {
    int64_t b, count, longest, length, tokens; // the sentence, its call's sentences and longest, its length, tokens of the call in front
    int64_t in_padded(int64_t position, bool sequence_first) const { return sequence_first ? position * count + b : b * longest + position; }
  };
  void set_dims(int64_t count, int64_t longest, int64_t tokens, int64_t *dims) const;
  void add(const pack_offset &offset, const location &at, std::span<const int32_t> ids, int32_t pad, int32_t *padded) const;
  void add_types(const pack_offset &offset, const location &at, int64_t first, int32_t *padded) const;

  const entry_info *entry_;
  int batch_dim_, source_dim_, dim_ = -1; // `dim_`: of all tokens
  bool sequence_first_, has_types_ = false;
  uint64_t tokens_offset_ = 0, positions_offset_ = 0, spans_offset_ = 0, types_offset_ = 0;
  int32_t *tokens_ = nullptr, *positions_ = nullptr, *spans_ = nullptr, *types_ = nullptr;
};

} // namespace xf::rt

#endif
