#include "runtime/core/row_best.h"

#include "runtime/abi/xf_abi.h"

#include <cmath>
#include <cstring>
#include <limits>

// Vectors never cross a function boundary here: all helpers are inlined.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace xf::rt {

namespace {

#define XF_INLINE inline __attribute__((always_inline))

// 16 lanes are 4 vectors of 4 floats, 2 of 8, or 1 of 16: column i belongs to lane i mod 16 on every instruction set.
template <int Bytes> struct vectors {
  typedef float f32 __attribute__((vector_size(Bytes)));
  typedef int32_t i32 __attribute__((vector_size(Bytes)));
  typedef uint32_t u32 __attribute__((vector_size(Bytes)));
  static constexpr int kWidth = Bytes / 4, kParts = 64 / Bytes;
};

constexpr int64_t kLanes = 16;
constexpr int64_t kChunk = 64;  // columns compared with the worst candidate at once
constexpr int64_t kBlock = 512; // columns whose exponentials share a maximum
constexpr float kNone = -std::numeric_limits<float>::infinity();

template <typename V> XF_INLINE V load(const float *from) {
  V v;
  std::memcpy(&v, from, sizeof(v));
  return v;
}

// e^x for x <= 0, within 2 ulp; 0 for x < -87 and for what is not a number.
template <typename Set> XF_INLINE typename Set::f32 exp_negative(typename Set::f32 x) {
  using f32 = typename Set::f32;
  using u32 = typename Set::u32;
  const f32 shifted = x * 1.44269504088896341f + 12582912.0f; // 1.5 * 2^23: rounds to an integer
  const f32 n = shifted - 12582912.0f;
  const f32 r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
  f32 p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  // The integer sits in the low bits of `shifted`.
  const u32 bits = (u32)p + ((u32)shifted << 23);
  const typename Set::i32 counts = x > -87.0f;
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
      tail[lane] = i + lane < size ? x[i + lane] : kNone;
    body(tail);
  }
}

// Sorted by descending logit; equal logits stay in the order of their tokens.
struct best_list {
  candidate *best;
  int32_t wanted;
  int32_t count = 0;
  float worst = kNone;

  XF_INLINE void offer(float logit, int64_t token) {
    if (!(logit > worst))
      return;
    int32_t at = count < wanted ? count++ : wanted - 1;
    for (; at > 0 && best[at - 1].logit < logit; --at)
      best[at] = best[at - 1];
    best[at] = {logit, static_cast<int32_t>(token)};
    if (count == wanted)
      worst = best[wanted - 1].logit;
  }
};

template <typename Set> struct row_reduction {
  using f32 = typename Set::f32;
  using i32 = typename Set::i32;
  i32 odd[Set::kParts] = {}; // where a value is +inf or not a number

  XF_INLINE float largest(const float *x, int64_t size) {
    f32 m[Set::kParts];
    for (f32 &part : m)
      part = f32{} + kNone;
    for_lanes(x, size, [&](const float *columns) __attribute__((always_inline)) {
      for (int p = 0; p < Set::kParts; ++p) {
        const f32 v = load<f32>(columns + p * Set::kWidth);
        odd[p] |= ~(v <= std::numeric_limits<float>::max());
        m[p] = v > m[p] ? v : m[p];
      }
    });
    float lane[kLanes];
    std::memcpy(lane, m, sizeof(lane));
    return combine(lane, [](float a, float b) { return a > b ? a : b; });
  }

  XF_INLINE float sum_of_exp(const float *x, int64_t size, float shift) {
    f32 sum[Set::kParts] = {};
    for_lanes(x, size, [&](const float *columns) __attribute__((always_inline)) {
      for (int p = 0; p < Set::kParts; ++p)
        sum[p] += exp_negative<Set>(load<f32>(columns + p * Set::kWidth) - shift);
    });
    float lane[kLanes];
    std::memcpy(lane, sum, sizeof(lane));
    return combine(lane, [](float a, float b) { return a + b; });
  }

  XF_INLINE row_summary run(const float *logits, int64_t size, int32_t wanted, candidate *best, bool normaliser) {
    best_list list{best, wanted};
    double top = kNone, sum = 0;
    for (int64_t block = 0; block < size; block += kBlock) {
      const int64_t end = block + kBlock < size ? block + kBlock : size;
      float block_top = kNone;
      for (int64_t chunk = block; chunk < end; chunk += kChunk) {
        const int64_t columns = chunk + kChunk < end ? kChunk : end - chunk;
        const float chunk_top = largest(logits + chunk, columns);
        block_top = chunk_top > block_top ? chunk_top : block_top;
        if (chunk_top > list.worst)
          for (int64_t i = 0; i < columns; ++i)
            list.offer(logits[chunk + i], chunk + i);
      }
      if (!normaliser || block_top == kNone)
        continue;
      const double block_sum = sum_of_exp(logits + block, end - block, block_top);
      if (block_top > top) {
        sum = sum * std::exp(top - block_top) + block_sum;
        top = block_top;
      } else {
        sum += block_sum * std::exp(block_top - top);
      }
    }
    int32_t lanes[kLanes], any = 0;
    std::memcpy(lanes, odd, sizeof(lanes));
    for (int32_t lane : lanes)
      any |= lane;
    return {list.count, any == 0, normaliser ? top + std::log(sum) : 0.0};
  }
};

row_summary reduce_baseline(const float *x, int64_t size, int32_t wanted, candidate *best, bool normaliser) {
  return row_reduction<vectors<16>>().run(x, size, wanted, best, normaliser);
}
__attribute__((target("avx2"))) row_summary reduce_avx2(const float *x, int64_t size, int32_t wanted,
                                                        candidate *best, bool normaliser) {
  return row_reduction<vectors<32>>().run(x, size, wanted, best, normaliser);
}
__attribute__((target("avx512f,avx512dq,avx512bw,avx512vl"))) row_summary
reduce_avx512(const float *x, int64_t size, int32_t wanted, candidate *best, bool normaliser) {
  return row_reduction<vectors<64>>().run(x, size, wanted, best, normaliser);
}

} // namespace

row_reducer row_reducer_for(int isa) {
  return isa >= XF_ABI_AVX512 ? reduce_avx512 : isa >= XF_ABI_AVX2 ? reduce_avx2 : reduce_baseline;
}

} // namespace xf::rt
