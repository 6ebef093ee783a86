#include "runtime/core/row_best.h"

#include "runtime/abi/xf_abi.h"

#include <cmath>
#include <cstring>
#include <limits>

// Vectors of 16 lanes never cross a function boundary here: all helpers are inlined.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace xf::rt {

namespace {

using f32x16 = float __attribute__((vector_size(64)));
using i32x16 = int32_t __attribute__((vector_size(64)));
using u32x16 = uint32_t __attribute__((vector_size(64)));
#define XF_INLINE inline __attribute__((always_inline))

constexpr int64_t kLanes = 16;
constexpr int64_t kChunk = 64;  // columns compared with the worst candidate at once
constexpr int64_t kBlock = 512; // columns whose exponentials share a maximum
constexpr float kNone = -std::numeric_limits<float>::infinity();

XF_INLINE f32x16 load(const float *from) {
  f32x16 v;
  std::memcpy(&v, from, sizeof(v));
  return v;
}

XF_INLINE f32x16 splat(float x) { return x - f32x16{}; }

// e^x for x <= 0, within 2 ulp; 0 for x < -87 and for what is not a number.
XF_INLINE f32x16 exp_negative(f32x16 x) {
  const f32x16 shifted = x * 1.44269504088896341f + 12582912.0f; // 1.5 * 2^23: rounds to an integer
  const f32x16 n = shifted - 12582912.0f;
  const f32x16 r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
  f32x16 p = splat(1.9875691500e-4f);
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  u32x16 exponent, bits;
  std::memcpy(&exponent, &shifted, sizeof(exponent));
  std::memcpy(&bits, &p, sizeof(bits));
  bits += exponent << 23; // the integer sits in the low bits of `shifted`
  const i32x16 counts = x > -87.0f;
  bits &= (u32x16)counts;
  f32x16 result;
  std::memcpy(&result, &bits, sizeof(result));
  return result;
}

XF_INLINE float sum_of(f32x16 v) {
  float s[kLanes];
  std::memcpy(s, &v, sizeof(s));
  for (int64_t width = kLanes / 2; width >= 1; width /= 2)
    for (int64_t i = 0; i < width; ++i)
      s[i] += s[i + width];
  return s[0];
}

XF_INLINE float max_of(f32x16 v) {
  float s[kLanes];
  std::memcpy(s, &v, sizeof(s));
  for (int64_t width = kLanes / 2; width >= 1; width /= 2)
    for (int64_t i = 0; i < width; ++i)
      s[i] = s[i] > s[i + width] ? s[i] : s[i + width];
  return s[0];
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

// The largest of `size` values, from a multiple of kLanes on padded with nothing.
XF_INLINE float largest(const float *x, int64_t size, i32x16 &odd) {
  f32x16 m = splat(kNone);
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    f32x16 v = load(x + i);
    odd |= ~(v <= std::numeric_limits<float>::max());
    m = v > m ? v : m;
  }
  if (i < size) {
    float tail[kLanes];
    for (int64_t lane = 0; lane < kLanes; ++lane)
      tail[lane] = i + lane < size ? x[i + lane] : kNone;
    f32x16 v = load(tail);
    odd |= ~(v <= std::numeric_limits<float>::max());
    m = v > m ? v : m;
  }
  return max_of(m);
}

XF_INLINE float sum_of_exp(const float *x, int64_t size, float shift) {
  f32x16 sum = splat(0.0f);
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes)
    sum += exp_negative(load(x + i) - shift);
  if (i < size) {
    float tail[kLanes];
    for (int64_t lane = 0; lane < kLanes; ++lane)
      tail[lane] = i + lane < size ? x[i + lane] : kNone;
    sum += exp_negative(load(tail) - shift);
  }
  return sum_of(sum);
}

XF_INLINE row_summary reduce(const float *logits, int64_t size, int32_t wanted, candidate *best, bool normaliser) {
  best_list list{best, wanted};
  i32x16 odd = {};
  double top = kNone, sum = 0;
  for (int64_t block = 0; block < size; block += kBlock) {
    int64_t end = block + kBlock < size ? block + kBlock : size;
    float block_top = kNone;
    for (int64_t chunk = block; chunk < end; chunk += kChunk) {
      int64_t columns = chunk + kChunk < end ? kChunk : end - chunk;
      float chunk_top = largest(logits + chunk, columns, odd);
      block_top = chunk_top > block_top ? chunk_top : block_top;
      if (chunk_top > list.worst)
        for (int64_t i = 0; i < columns; ++i)
          list.offer(logits[chunk + i], chunk + i);
    }
    if (!normaliser || block_top == kNone)
      continue;
    double block_sum = sum_of_exp(logits + block, end - block, block_top);
    if (block_top > top) {
      sum = sum * std::exp(top - block_top) + block_sum;
      top = block_top;
    } else {
      sum += block_sum * std::exp(block_top - top);
    }
  }
  int32_t any = 0;
  for (int64_t lane = 0; lane < kLanes; ++lane)
    any |= odd[lane];
  return {list.count, any == 0, normaliser ? top + std::log(sum) : 0.0};
}

row_summary reduce_baseline(const float *x, int64_t size, int32_t wanted, candidate *best, bool normaliser) {
  return reduce(x, size, wanted, best, normaliser);
}
__attribute__((target("avx2"))) row_summary reduce_avx2(const float *x, int64_t size, int32_t wanted,
                                                        candidate *best, bool normaliser) {
  return reduce(x, size, wanted, best, normaliser);
}
__attribute__((target("avx512f,avx512dq,avx512bw,avx512vl"))) row_summary
reduce_avx512(const float *x, int64_t size, int32_t wanted, candidate *best, bool normaliser) {
  return reduce(x, size, wanted, best, normaliser);
}

} // namespace

row_reducer row_reducer_for(int isa) {
  return isa == XF_ABI_AVX512 ? reduce_avx512 : isa == XF_ABI_AVX2 ? reduce_avx2 : reduce_baseline;
}

} // namespace xf::rt
