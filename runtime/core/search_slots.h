// The sentences that are searched at the same time. Each has a slot, with what its decoder is given, its beams, the rows of the states that
// these have, and what they may choose.
#ifndef RUNTIME_CORE_SEARCH_SLOTS_H
#define RUNTIME_CORE_SEARCH_SLOTS_H

#include "runtime/abi/xf_abi.h"
#include "runtime/core/arena.h"
#include "runtime/core/beam.h"
#include "runtime/core/beam_rows.h"
#include "runtime/core/token_classes.h"
#include "runtime/core/token_rows.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace xf::rt {

struct slot {
  int64_t sentence = -1; // -1: free
  int64_t past = 0;      // positions in the states
  int32_t min_length = 0;
  // Tokens that are read before any is chosen; `given` of them come before the result: all, unless a result is scored.
  int32_t prefix_length = 0, prefix_used = 0, given = 0;
  uint64_t draws = 0; // what its random numbers are made from
  bool ready = false; // the last step gave logits to choose from
  bool failed = false;
  int32_t *prefix = nullptr; // the start token first
  beam_search beams;

  bool is_free() const { return sentence < 0; }
  bool may_end() const { return beams.produced() >= min_length; }
  void give(int32_t token) { prefix[prefix_length++] = token; }
  // Which token of a scored result the logits at `position`, one of the last `positions` that were read, score; negative: a token that is given
  // before the result.
  int64_t scored(int64_t position, int64_t positions) const { return prefix_used - positions + position + 1 - given; }
};

// A token of a result that is scored, and the class of the row that it is chosen from.
struct scored_target {
  int32_t row_class, token;
};

class search_slots {
public:
  search_slots(const xf_abi_generate &g, arena_plan &plan);
  // `forbidden` is memory for all token_classes, of `words` words each.
  void bind(const arena &memory, uint32_t *forbidden, int64_t words);

  // Frees all slots, of which this search takes `count` at most. The last search may have stopped in the middle.
  void start(int32_t count, std::span<const int32_t> suppressed, const shortlist *allowed, const end_tokens &ends);
  // Takes a free slot, and the next row.
  slot &open(int32_t index, int64_t sentence, std::span<const int32_t> source);
  void close(int32_t index);

  int32_t count() const { return count_; }
  int32_t taken() const { return taken_; }
  slot &at(int32_t index) { return slots_[static_cast<size_t>(index)]; }
  const slot &at(int32_t index) const { return slots_[static_cast<size_t>(index)]; }
  const end_tokens &ends() const { return classes_.ends(); }
  // Calls visit(index, slot) for each slot that is taken, which it may close.
  template <typename Visit> void for_each(Visit visit) { for_each_of(*this, visit); }
  template <typename Visit> void for_each(Visit visit) const { for_each_of(*this, visit); }
  bool any_ready() const;
  // The most positions that a row holds.
  int64_t longest() const;

  const beam_rows &rows() const { return rows_; }
  const slot &of_row(int32_t row) const { return at(rows_.slot_of(row)); }
  std::span<const int32_t> rows_of(int32_t index) const { return {rows_.of(index), static_cast<size_t>(at(index).beams.open())}; }
  // A device has moved the rows of a slot itself.
  void set_rows(int32_t index, std::span<const int32_t> rows);
  // The token that a row reads `ahead` positions after its next one; only given tokens are known ahead.
  int32_t next_token(int32_t row, int64_t ahead) const;
  // All tokens that the decoder has read for a row, its start token first: written to `tokens`.
  std::span<const int32_t> tokens_read(int32_t row, int32_t *tokens) const;
  // A step reads so many positions of each row.
  void read(int64_t positions);
  // Finds rows for the beams, dense again, and returns the moves of their states. `have_moved`: their rows are those after the step already,
  // not those of their parents.
  std::span<const row_move> regroup(bool have_moved);

  // What a row may choose now.
  int32_t class_of(int32_t row) const;
  // Where results are given: the token that a row scores at one of the last `positions` positions that it has read, if any.
  std::optional<scored_target> target_of(int32_t row, int64_t position, int64_t positions, const token_rows &targets) const;
  const token_classes &classes() const { return classes_; }

private:
  template <typename Self, typename Visit> static void for_each_of(Self &self, Visit visit) {
    for (int32_t index = 0; index < self.count_; ++index)
      if (!self.at(index).is_free())
        visit(index, self.at(index));
  }

  std::vector<slot> slots_;
  beam_rows rows_;
  token_classes classes_;
  std::vector<slot_beams> after_; // of each slot, after a step
  int64_t prefix_capacity_;
  uint64_t prefixes_offset_;
  int32_t count_ = 0, taken_ = 0;
};

} // namespace xf::rt

#endif
