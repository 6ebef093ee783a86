// Instructions by which lanes of a warp exchange values.
#include "runtime/device/emulator/lanes.h"

#include <algorithm>

namespace xf::rt::emulator {

// The lanes that a lane names as those that take part: the last source.
uint32_t warp::members(const instruction &i, int lane) { return row<uint32_t>(i.source[i.op == op::shuffle ? 3 : 1])[lane]; }

void warp::shuffle(const instruction &i) {
  const uint32_t *values = row<uint32_t>(i.source[0]), *others = row<uint32_t>(i.source[1]);
  const uint32_t *clamps = row<uint32_t>(i.source[2]);
  uint32_t copy[kLanes];
  std::memcpy(copy, values, sizeof(copy));
  for (uint32_t rest = mask_; rest; rest &= rest - 1) {
    int lane = std::countr_zero(rest);
    if (!(members(i, lane) >> lane & 1))
      fail_lane(lane, "takes part in an exchange that does not name it");
    // The clamp holds the group's last lane, and in its upper half which bits are the group's.
    uint32_t segment = clamps[lane] >> 8 & 31, last = (static_cast<uint32_t>(lane) & segment) | (clamps[lane] & 31 & ~segment);
    uint32_t first = static_cast<uint32_t>(lane) & segment, distance = others[lane] & 31;
    uint32_t from = static_cast<uint32_t>(lane);
    bool inside = false;
    switch (static_cast<shuffle_mode>(i.mode)) {
    case shuffle_mode::exchange:
      from = static_cast<uint32_t>(lane) ^ distance;
      inside = from <= last;
      break;
    case shuffle_mode::up: {
      int wanted = lane - static_cast<int>(distance);
      inside = wanted >= static_cast<int>(last);
      from = static_cast<uint32_t>(wanted);
      break;
    }
    case shuffle_mode::down:
      from = static_cast<uint32_t>(lane) + distance;
      inside = from <= last;
      break;
    case shuffle_mode::index:
      from = first | (distance & ~segment);
      inside = from <= last;
      break;
    }
    if (!inside)
      from = static_cast<uint32_t>(lane);
    else if (!(mask_ >> from & 1))
      fail_lane(lane, "takes a value from a lane that does not take part");
    row<uint32_t>(i.target[0])[lane] = copy[from];
    if (i.target[1] >= 0)
      row<uint32_t>(i.target[1])[lane] = inside;
  }
}

// Gives the lanes that name each other the result of `combine` for them; all of them must take part.
template <typename F> void warp::combine_lanes(const instruction &i, F combine) {
  for (uint32_t rest = mask_; rest;) {
    int lane = std::countr_zero(rest);
    uint32_t named = members(i, lane);
    if (!(named >> lane & 1))
      fail_lane(lane, "takes part in an exchange that does not name it");
    if (named & ~mask_)
      fail_lane(lane, "takes a value from a lane that does not take part");
    for (int other = 0; other < kLanes; ++other)
      if (named >> other & 1 && members(i, other) != named)
        fail_lane(lane, "takes part in an exchange with a lane that names others");
    uint32_t result = combine(named);
    for (int other = 0; other < kLanes; ++other)
      if (named >> other & 1)
        row<uint32_t>(i.target[0])[other] = result;
    rest &= ~named;
  }
}

void warp::reduce_lanes(const instruction &i) {
  const uint32_t *values = row<uint32_t>(i.source[0]);
  // Flipping the sign bit puts signed numbers in the order of unsigned ones.
  uint32_t sign = i.type == type::s32 ? 1u << 31 : 0;
  bool is_min = static_cast<reduction>(i.mode) == reduction::min;
  combine_lanes(i, [=](uint32_t named) {
    uint32_t result = is_min ? ~0u : 0;
    for (int lane = 0; lane < kLanes; ++lane)
      if (named >> lane & 1)
        result = is_min ? std::min(result, values[lane] ^ sign) : std::max(result, values[lane] ^ sign);
    return result ^ sign;
  });
}

void warp::ballot(const instruction &i) {
  const uint32_t *conditions = row<uint32_t>(i.source[0]);
  combine_lanes(i, [=](uint32_t named) {
    uint32_t holding = 0;
    for (int lane = 0; lane < kLanes; ++lane)
      holding |= static_cast<uint32_t>(conditions[lane] != 0) << lane;
    return holding & named;
  });
}

} // namespace xf::rt::emulator
