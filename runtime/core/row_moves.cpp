#include "runtime/core/row_moves.h"

#include "runtime/core/session.h"

#include <cstring>
#include <utility>

namespace xf::rt {

namespace {

// The units of a state that hold the positions which a move copies.
std::pair<uint64_t, uint64_t> units_of(const state_region &state, const row_move &move) {
  if (!state.unit_positions)
    return {0, 1};
  auto first = static_cast<uint64_t>(move.first), positions = static_cast<uint64_t>(move.positions);
  return {first / state.unit_positions, (positions + state.unit_positions - 1) / state.unit_positions};
}

int64_t bytes_of(const session &owner, std::span<const row_move> moves) {
  uint64_t bytes = 0;
  for (const row_move &move : moves)
    for (const state_region &state : owner.states().regions)
      if (!state.per_sentence) {
        auto [first, end] = units_of(state, move);
        bytes += state.layers * state.outer * state.unit_bytes * (end - first);
      }
  return static_cast<int64_t>(bytes);
}

// A thread's share.
void copy_rows(const session &owner, std::span<const row_move> moves, int thread, int threads) {
  uint64_t turn = 0;
  for (const row_move &move : moves)
    for (const state_region &state : owner.states().regions) {
      if (state.per_sentence)
        continue;
      auto [first, end] = units_of(state, move);
      for (uint64_t layer = 0; layer < state.layers; ++layer) {
        if (turn++ % static_cast<uint64_t>(threads) != static_cast<uint64_t>(thread))
          continue;
        uint8_t *base = owner.state_memory() + state.offset + layer * state.layer_stride + first * state.unit_bytes;
        for (uint64_t outer = 0; outer < state.outer; ++outer)
          std::memcpy(base + move.to * state.row_stride + outer * state.outer_stride,
                      base + move.from * state.row_stride + outer * state.outer_stride, (end - first) * state.unit_bytes);
      }
    }
}

} // namespace

void move_rows(session &owner, std::span<const row_move> moves) {
  if (device_executor *device = owner.executor())
    return device->move_rows(moves);
  if (int64_t bytes = bytes_of(owner, moves); bytes > 0)
    owner.pool().share(bytes, [&](int thread, int threads) { copy_rows(owner, moves, thread, threads); });
}

} // namespace xf::rt
