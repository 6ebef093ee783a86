// How the instructions that compute see registers: as values of a type in 32 lanes.
#ifndef RUNTIME_DEVICE_EMULATOR_LANES_H
#define RUNTIME_DEVICE_EMULATOR_LANES_H

#include "runtime/device/emulator/warp.h"

#include <bit>
#include <cstring>
#include <type_traits>

namespace xf::rt::emulator {

// A register of fewer than 32 bits lies in 32.
template <typename T> using stored_t = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <typename T> T as(stored_t<T> bits) {
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}
template <typename T> stored_t<T> stored(T value) {
  if constexpr (std::is_floating_point_v<T>)
    return std::bit_cast<stored_t<T>>(value);
  else
    return static_cast<stored_t<T>>(value);
}

// All NaNs of f32 have one pattern of bits, whatever they come from.
template <typename T> T canonical(T x) {
  if constexpr (std::is_same_v<T, float>)
    return x == x ? x : std::bit_cast<float>(0x7fffffffu);
  else
    return x;
}

template <typename F> void for_lanes(uint32_t mask, F f) {
  if (mask == ~0u)
    for (int lane = 0; lane < kLanes; ++lane)
      f(lane);
  else
    for (uint32_t rest = mask; rest; rest &= rest - 1)
      f(std::countr_zero(rest));
}

// `f` returns a lane's result as it is stored.
template <typename R, typename F> void warp::each(const instruction &i, F f) {
  R *to = row<R>(i.target[0]);
  if (mask_ == ~0u) {
    R results[kLanes];
    for (int lane = 0; lane < kLanes; ++lane)
      results[lane] = f(lane);
    std::memcpy(to, results, sizeof(results));
  } else {
    for_lanes(mask_, [&](int lane) { to[lane] = f(lane); });
  }
}

} // namespace xf::rt::emulator

#endif
