// Where the states of beams are. Rows are dense: with R beams open they are rows 0 to R - 1.
//
// A beam that goes on keeps its row if it can: of the beams that grow from one parent the first takes the
// parent's row, the others take rows that nobody needs any more, of their own sentence if there are any: these
// differ from the parent's in a few positions only. Rows to keep are never overwritten, so a
// move copies from a row that stays or falls away to one that is free, all moves are independent, and no
// second copy of the states is needed.
#include "runtime/core/search.h"
#include "runtime/core/session.h"

#include <algorithm>
#include <cstring>

namespace xf::rt {

int32_t searcher::beams_after(int32_t number) const {
  // A sentence that still reads its prompt has its one beam where it was.
  const slot &s = slots_[number];
  return s.sentence < 0 ? 0 : s.due ? layout_.beams[number].open() : 1;
}

int32_t searcher::parent_row(int32_t number, int32_t b) const {
  int32_t parent = slots_[number].due && !have_moved_ ? layout_.beams[number].beam(b).parent : b;
  return beam_rows_[number * layout_.beam + parent];
}

void searcher::plan_moves() {
  int32_t rows = 0;
  for (int32_t number = 0; number < batch_; ++number)
    rows += beams_after(number);
  std::memset(kept_, 0, static_cast<size_t>(std::max(rows, rows_)));
  for (int32_t number = 0; number < batch_; ++number)
    for (int32_t b = 0; b < beams_after(number); ++b) {
      int32_t from = parent_row(number, b);
      bool keeps = from < rows && !kept_[from];
      next_row(number, b) = keeps ? from : -1;
      kept_[from] |= keeps;
    }
  moves_count_ = 0;
  for (int32_t row = 0; row < std::min(rows, rows_); ++row)
    if (!kept_[row])
      give_to_sibling(row);
  int32_t free = 0;
  for (int32_t number = 0; number < batch_; ++number)
    for (int32_t b = 0; b < beams_after(number); ++b) {
      if (next_row(number, b) < 0) {
        while (kept_[free])
          ++free;
        move_beam(number, b, free);
      }
      row_slot_[next_row(number, b)] = number;
      row_beam_[next_row(number, b)] = b;
    }
  std::swap(beam_rows_, next_rows_);
  rows_ = rows;
}

// Gives a row that nobody needs to that beam of its sentence which finds the most in it.
void searcher::give_to_sibling(int32_t row) {
  int32_t number = row_slot_[row], best = -1;
  int64_t most = 0;
  for (int32_t b = 0; b < beams_after(number); ++b)
    if (next_row(number, b) < 0) {
      int64_t shared = layout_.history.shared(parent_row(number, b), row, slots_[number].past);
      if (best < 0 || shared > most)
        best = b, most = shared;
    }
  if (best >= 0)
    move_beam(number, best, row);
}

void searcher::move_beam(int32_t number, int32_t b, int32_t to) {
  int32_t from = parent_row(number, b);
  int64_t positions = slots_[number].past;
  moves_[moves_count_++] = {from, to, layout_.history.shared(from, to, positions), positions};
  layout_.history.copy(from, to, positions);
  next_row(number, b) = to;
  kept_[to] = true;
}

// The units of a state that hold the positions which a move copies.
static std::pair<uint64_t, uint64_t> units_of(const state_place &state, const row_move &move) {
  if (!state.unit_positions)
    return {0, 1};
  auto first = static_cast<uint64_t>(move.first), positions = static_cast<uint64_t>(move.positions);
  return {first / state.unit_positions, (positions + state.unit_positions - 1) / state.unit_positions};
}

void searcher::move_rows() {
  if (device_executor *device = session_.executor())
    return device->move_rows({moves_, static_cast<size_t>(moves_count_)});
  int64_t bytes = 0;
  for (int32_t i = 0; i < moves_count_; ++i)
    for (const state_place &state : session_.states().places)
      if (!state.per_sentence) {
        auto [first, end] = units_of(state, moves_[i]);
        bytes += static_cast<int64_t>(state.layers * state.outer * state.unit_bytes * (end - first));
      }
  if (bytes > 0)
    session_.pool().share(bytes, [&](int thread, int threads) { copy_rows(thread, threads); });
}

void searcher::copy_rows(int thread, int threads) const {
  uint64_t turn = 0;
  for (int32_t i = 0; i < moves_count_; ++i) {
    const row_move &move = moves_[i];
    for (const state_place &state : session_.states().places) {
      if (state.per_sentence)
        continue;
      auto [first, end] = units_of(state, move);
      for (uint64_t layer = 0; layer < state.layers; ++layer) {
        if (turn++ % static_cast<uint64_t>(threads) != static_cast<uint64_t>(thread))
          continue;
        uint8_t *base = session_.state_memory() + state.offset + layer * state.layer_stride + first * state.unit_bytes;
        for (uint64_t outer = 0; outer < state.outer; ++outer)
          std::memcpy(base + move.to * state.row_stride + outer * state.outer_stride,
                      base + move.from * state.row_stride + outer * state.outer_stride, (end - first) * state.unit_bytes);
      }
    }
  }
}

} // namespace xf::rt
