#include "runtime/core/states.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace xf::rt {

namespace {

constexpr uint64_t kAlignment = 64; // of layers: a cache line, and the widest vector

uint64_t aligned(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

state_region region_of(const xf_abi_state &state, const int64_t *capacities) {
  state_region region{};
  region.layers = state.layers;
  region.per_sentence = state.per_sentence;
  region.row_stride = xf_abi_state_row_bytes(&state, capacities);
  region.outer = 1;
  region.unit_bytes = region.outer_stride = region.row_stride;
  if (state.positions < 0)
    return region;
  auto axis = static_cast<uint32_t>(state.positions);
  region.unit_positions = static_cast<uint64_t>(state.multiple[axis]);
  region.unit_bytes = region.unit_positions * xf_abi_dtype_bytes(state.dtype);
  for (uint32_t i = 0; i < state.rank; ++i)
    (i < axis ? region.outer : region.unit_bytes) *= i == axis ? 1 : xf_abi_state_size(&state, i, capacities);
  region.outer_stride = region.row_stride / std::max<uint64_t>(region.outer, 1);
  return region;
}

} // namespace

bool state_room::covers(const state_room &other) const {
  return rows >= other.rows && sentences >= other.sentences &&
         std::equal(capacities.begin(), capacities.end(), other.capacities.begin(), other.capacities.end(), std::greater_equal<>());
}

state_room largest_room(const model &m) {
  const xf_abi_generate &g = m.header().generate;
  state_room room{};
  if (g.present)
    room.rows = g.batch * g.beam, room.sentences = g.batch;
  for (const dim_info &dim : m.dims())
    room.capacities.push_back(dim.max);
  return room;
}

state_layout::state_layout(const model &m) {
  lay_out(m, largest_room(m));
  for (size_t dtype = 1; dtype < starts_.size(); ++dtype)
    starts_[dtype] = starts_[dtype - 1] + ends_[dtype - 1];
  lay_out(m, room);
}

void state_layout::lay_out(const model &m, const state_room &wanted) {
  room = wanted;
  ends_ = starts_;
  regions.clear();
  for (const xf_abi_state &state : m.states()) {
    state_region region = region_of(state, room.capacities.data());
    int64_t rows = region.per_sentence ? room.sentences : room.rows;
    region.layer_stride = aligned(region.row_stride * static_cast<uint64_t>(rows));
    region.offset = ends_[state.dtype];
    ends_[state.dtype] += region.layers * region.layer_stride;
    regions.push_back(region);
  }
  bytes = std::reduce(ends_.begin(), ends_.end()) - std::reduce(starts_.begin(), starts_.end());
}

void write_views(const state_layout &layout, uint8_t *base, std::vector<xf_abi_state_view> &result) {
  result.clear();
  for (const state_region &region : layout.regions)
    result.push_back({base + region.offset, region.layer_stride, region.row_stride});
}

} // namespace xf::rt
