// Which row of the states each open beam of a search has. Rows are dense: with R beams open they are rows 0 to R - 1.
//
// A beam that goes on keeps its row if it can: of the beams that grow from one parent the first takes the
// parent's row, the others take rows that nobody needs any more, of their own sentence if there are any: these
// differ from the parent's in a few positions only. Rows to keep are never overwritten, so a
// move copies from a row that stays or falls away to one that is free, all moves are independent, and no
// second copy of the states is needed.
#ifndef RUNTIME_CORE_BEAM_ROWS_H
#define RUNTIME_CORE_BEAM_ROWS_H

#include "runtime/core/beam.h"
#include "runtime/core/row_history.h"
#include "runtime/core/row_moves.h"

#include <cstdint>
#include <span>

namespace xf::rt {

// The beams of a slot after a step.
struct slot_beams {
  int32_t count = 0;               // 0: the slot is free
  const open_beam *grown = nullptr; // their parents are the beams before the step; null: each is its own
  int64_t positions = 0;           // that the rows hold
};

class beam_rows {
public:
  // For `slots` sentences of at most `beams` beams, whose rows hold at most `positions`.
  beam_rows(arena_plan &plan, int64_t slots, int64_t beams, int64_t positions);
  void bind(const arena &memory);

  // What rows hold is unknown now.
  void forget() { history_.forget(); }
  // No slot has rows now.
  void clear() { count_ = 0; }
  // Gives the next row to the one beam of a slot.
  void open(int32_t slot);
  // A step has written `count` positions of a row behind its first `past`.
  void append(int32_t row, int64_t past, int64_t count) { history_.append(row, past, count); }

  int32_t count() const { return count_; }
  int32_t slot_of(int32_t row) const { return slot_of_[row]; }
  int32_t beam_of(int32_t row) const { return beam_of_[row]; }
  // The rows of a slot's beams. A device that has moved them itself says where they are.
  int32_t *of(int32_t slot) { return rows_ + slot * beams_; }
  const int32_t *of(int32_t slot) const { return rows_ + slot * beams_; }

  // Finds rows for the beams of all slots, and returns the moves that bring their states there, which hold until the next call.
  std::span<const row_move> regroup(std::span<const slot_beams> slots);

private:
  int32_t parent(int32_t slot, const slot_beams &beams, int32_t beam) const { return of(slot)[beams.grown ? beams.grown[beam].parent : beam]; }
  int32_t &next(int32_t slot, int32_t beam) { return next_[slot * beams_ + beam]; }
  void give_to_sibling(int32_t row, std::span<const slot_beams> slots);
  void move(int32_t slot, const slot_beams &beams, int32_t beam, int32_t to);

  row_history history_;
  int64_t beams_;
  uint64_t rows_offset_, next_offset_, slot_of_offset_, beam_of_offset_, kept_offset_, moves_offset_;
  int32_t *rows_ = nullptr, *next_ = nullptr;       // [slot][beam]; after the step
  int32_t *slot_of_ = nullptr, *beam_of_ = nullptr; // [row]
  uint8_t *kept_ = nullptr;                         // [row]: whether a beam has it after the step
  row_move *moves_ = nullptr;                       // [row]
  int32_t count_ = 0, moves_count_ = 0;
};

} // namespace xf::rt

#endif
