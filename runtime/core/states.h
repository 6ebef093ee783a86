// Where a session keeps the states of a search: laid out for what one search can need, not for the model's limits, so that what it
// touches lies close together.
#ifndef RUNTIME_CORE_STATES_H
#define RUNTIME_CORE_STATES_H

#include "runtime/core/model.h"

#include <array>
#include <cstdint>
#include <vector>

namespace xf::rt {

// What a search needs room for.
struct state_room {
  int64_t rows, sentences;
  std::vector<int64_t> capacities; // of each dimension, by index

  bool covers(const state_room &other) const;
};

// What is enough for every search of the model.
state_room largest_room(const model &m);

// Row r of layer l of a state lies `offset + l * layer_stride + r * row_stride` bytes from the first state's start. It is
// [outer][units][unit_bytes], where a unit holds `unit_positions` positions; where that is 0 it is one unit.
struct state_region {
  uint64_t offset, layers, layer_stride, row_stride;
  uint64_t outer, outer_stride, unit_positions, unit_bytes;
  bool per_sentence;
};

struct state_layout {
  // For the model's limits.
  explicit state_layout(const model &m);
  // Again for another room within the limits; allocates nothing. What lies there need not be cleared: each data type has a range
  // of its own, so an earlier search left valid values, which plans may read at positions that they have not written.
  void lay_out(const model &m, const state_room &wanted);

  state_room room;
  std::vector<state_region> regions; // by index in the model's table
  uint64_t bytes; // of all states; at the model's limits they have no gaps

private:
  std::array<uint64_t, XF_ABI_DTYPE_COUNT> starts_{}, ends_{}; // of the states of a data type
};

// A layout as plans know it, of states that begin at `base`; allocates nothing if `result` is one already.
void write_views(const state_layout &layout, uint8_t *base, std::vector<xf_abi_state_view> &result);

} // namespace xf::rt

#endif
