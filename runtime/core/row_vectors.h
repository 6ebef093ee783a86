// Vectors of 4, 8 or 16 floats for loops over rows of logits, which give the same bits with each of them.
//
// Vectors never cross a function boundary: all helpers are inlined, into functions for one instruction set.
#ifndef RUNTIME_CORE_ROW_VECTORS_H
#define RUNTIME_CORE_ROW_VECTORS_H

#include "runtime/abi/xf_exp.h"

#include <cstdint>
#include <cstring>
#include <limits>

#define XF_INLINE inline __attribute__((always_inline))

namespace xf::rt {

// 16 lanes are 4 vectors of 4 floats, 2 of 8, or 1 of 16: column i belongs to lane i mod 16 on every instruction set.
template <int Bytes> struct vectors {
  typedef float f32 __attribute__((vector_size(Bytes)));
  typedef int32_t i32 __attribute__((vector_size(Bytes)));
  typedef uint32_t u32 __attribute__((vector_size(Bytes)));
  static constexpr int kWidth = Bytes / 4, kParts = 64 / Bytes;
};

constexpr int64_t kLanes = 16;
constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

template <typename V> XF_INLINE V load(const float *from) {
  V v;
  std::memcpy(&v, from, sizeof(v));
  return v;
}

// e^x for x <= 0, within 2 ulp; 0 for x < -87 and for what is not a number.
template <typename Set> XF_INLINE typename Set::f32 exp_negative(typename Set::f32 x) {
  using f32 = typename Set::f32;
  using u32 = typename Set::u32;
  const f32 shifted = x * kXfShortExpLog2e + kXfShortExpShift;
  const f32 p = xf_short_exp_of_parts(x, shifted - kXfShortExpShift, [](float value) __attribute__((always_inline)) { return value; });
  const u32 bits = (u32)p + ((u32)shifted << 23);
  const typename Set::i32 counts = x > kXfShortExpMin;
  return (f32)(bits & (u32)counts);
}

// One tree over the 16 lanes.
template <typename Combine> XF_INLINE float combine(float *lane, Combine op) {
  for (int64_t width = kLanes / 2; width >= 1; width /= 2)
    for (int64_t i = 0; i < width; ++i)
      lane[i] = op(lane[i], lane[i + width]);
  return lane[0];
}

// Calls body(columns) for each 16 columns; the last ones are padded with -inf.
template <typename Body> XF_INLINE void for_lanes(const float *x, int64_t size, Body body) {
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes)
    body(x + i);
  if (i < size) {
    float tail[kLanes];
    for (int64_t lane = 0; lane < kLanes; ++lane)
      tail[lane] = i + lane < size ? x[i + lane] : kMinusInfinity;
    body(tail);
  }
}

// The largest value; `visit(part, vector)` sees all of them.
template <typename Set, typename Visit> XF_INLINE float largest_of(const float *x, int64_t size, Visit visit) {
  typename Set::f32 max[Set::kParts];
  for (auto &part : max)
    part = typename Set::f32{} + kMinusInfinity;
  for_lanes(x, size, [&](const float *columns) __attribute__((always_inline)) {
    for (int p = 0; p < Set::kParts; ++p) {
      const auto v = load<typename Set::f32>(columns + p * Set::kWidth);
      visit(p, v);
      max[p] = v > max[p] ? v : max[p];
    }
  });
  float lane[kLanes];
  std::memcpy(lane, max, sizeof(lane));
  return combine(lane, [](float a, float b) { return a > b ? a : b; });
}

// The sum of value(vector) over all vectors, where value(-inf) is 0.
template <typename Set, typename Value> XF_INLINE float sum_of(const float *x, int64_t size, Value value) {
  typename Set::f32 sum[Set::kParts] = {};
  for_lanes(x, size, [&](const float *columns) __attribute__((always_inline)) {
    for (int p = 0; p < Set::kParts; ++p)
      sum[p] += value(load<typename Set::f32>(columns + p * Set::kWidth));
  });
  float lane[kLanes];
  std::memcpy(lane, sum, sizeof(lane));
  return combine(lane, [](float a, float b) { return a + b; });
}

} // namespace xf::rt

#endif
