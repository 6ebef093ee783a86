#include "runtime/core/beam_rows.h"

#include <algorithm>
#include <cstring>

namespace xf::rt {

beam_rows::beam_rows(arena_plan &plan, int64_t slots, int64_t beams, int64_t positions) : history_(plan, slots * beams, positions), beams_(beams) {
  int64_t rows = slots * beams;
  for (uint64_t *offset : {&rows_offset_, &next_offset_, &slot_of_offset_, &beam_of_offset_})
    *offset = plan.add(rows, sizeof(int32_t));
  kept_offset_ = plan.add(rows, sizeof(uint8_t));
  moves_offset_ = plan.add(rows, sizeof(row_move));
}

void beam_rows::bind(const arena &memory) {
  history_.bind(memory);
  rows_ = memory.as<int32_t>(rows_offset_);
  next_ = memory.as<int32_t>(next_offset_);
  slot_of_ = memory.as<int32_t>(slot_of_offset_);
  beam_of_ = memory.as<int32_t>(beam_of_offset_);
  kept_ = memory.as<uint8_t>(kept_offset_);
  moves_ = memory.as<row_move>(moves_offset_);
}

void beam_rows::open(int32_t slot) {
  of(slot)[0] = count_;
  slot_of_[count_] = slot;
  beam_of_[count_] = 0;
  ++count_;
}

std::span<const row_move> beam_rows::regroup(std::span<const slot_beams> slots) {
  auto for_each_beam = [&](auto visit) {
    for (int32_t slot = 0; slot < static_cast<int32_t>(slots.size()); ++slot)
      for (int32_t beam = 0; beam < slots[static_cast<size_t>(slot)].count; ++beam)
        visit(slot, slots[static_cast<size_t>(slot)], beam);
  };
  int32_t rows = 0;
  for (const slot_beams &beams : slots)
    rows += beams.count;
  std::memset(kept_, 0, static_cast<size_t>(std::max(rows, count_)));
  for_each_beam([&](int32_t slot, const slot_beams &beams, int32_t beam) {
    int32_t from = parent(slot, beams, beam);
    bool keeps = from < rows && !kept_[from];
    next(slot, beam) = keeps ? from : -1;
    kept_[from] |= keeps;
  });
  moves_count_ = 0;
  for (int32_t row = 0; row < std::min(rows, count_); ++row)
    if (!kept_[row])
      give_to_sibling(row, slots);
  int32_t free = 0;
  for_each_beam([&](int32_t slot, const slot_beams &beams, int32_t beam) {
    if (next(slot, beam) < 0) {
      while (kept_[free])
        ++free;
      move(slot, beams, beam, free);
    }
    slot_of_[next(slot, beam)] = slot;
    beam_of_[next(slot, beam)] = beam;
  });
  std::swap(rows_, next_);
  count_ = rows;
  return {moves_, static_cast<size_t>(moves_count_)};
}

// Gives a row that nobody needs to that beam of its sentence which finds the most in it.
void beam_rows::give_to_sibling(int32_t row, std::span<const slot_beams> slots) {
  int32_t slot = slot_of_[row], best = -1;
  const slot_beams &beams = slots[static_cast<size_t>(slot)];
  int64_t max_shared = 0;
  for (int32_t beam = 0; beam < beams.count; ++beam)
    if (next(slot, beam) < 0) {
      int64_t shared = history_.shared(parent(slot, beams, beam), row, beams.positions);
      if (best < 0 || shared > max_shared)
        best = beam, max_shared = shared;
    }
  if (best >= 0)
    move(slot, beams, best, row);
}

void beam_rows::move(int32_t slot, const slot_beams &beams, int32_t beam, int32_t to) {
  int32_t from = parent(slot, beams, beam);
  moves_[moves_count_++] = {from, to, history_.shared(from, to, beams.positions), beams.positions};
  history_.copy(from, to, beams.positions);
  next(slot, beam) = to;
  kept_[to] = true;
}

} // namespace xf::rt
