#include "runtime/core/row_best.h"

#include "runtime/abi/xf_abi.h"
#include "runtime/core/row_vectors.h"

#include <cmath>
#include <cstring>
#include <limits>

#pragma GCC diagnostic ignored "-Wpsabi"

namespace xf::rt {

namespace {

constexpr int64_t kChunk = 64;  // columns compared with the worst candidate at once
constexpr int64_t kBlock = 512; // columns whose exponentials share a maximum

// Sorted by descending logit; equal logits stay in the order of their tokens.
struct best_list {
  candidate *best;
  int32_t wanted;
  int32_t count = 0;
  float worst = kMinusInfinity;

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
  i32 non_finite[Set::kParts] = {}; // where a value is +inf or not a number

  XF_INLINE float largest(const float *x, int64_t size) {
    return largest_of<Set>(x, size,
                           [this](int part, f32 v) __attribute__((always_inline)) { non_finite[part] |= ~(v <= std::numeric_limits<float>::max()); });
  }

  XF_INLINE float sum_of_exp(const float *x, int64_t size, float shift) {
    return sum_of<Set>(x, size, [shift](f32 v) __attribute__((always_inline)) { return exp_negative<Set>(v - shift); });
  }

  XF_INLINE row_summary run(const float *logits, int64_t size, int32_t wanted, candidate *best, bool normaliser) {
    best_list list{best, wanted};
    double top = kMinusInfinity, sum = 0;
    for (int64_t block = 0; block < size; block += kBlock) {
      const int64_t end = block + kBlock < size ? block + kBlock : size;
      float block_top = kMinusInfinity;
      for (int64_t chunk = block; chunk < end; chunk += kChunk) {
        const int64_t columns = chunk + kChunk < end ? kChunk : end - chunk;
        const float chunk_top = largest(logits + chunk, columns);
        block_top = chunk_top > block_top ? chunk_top : block_top;
        if (chunk_top > list.worst)
          for (int64_t i = 0; i < columns; ++i)
            list.offer(logits[chunk + i], chunk + i);
      }
      if (!normaliser || block_top == kMinusInfinity)
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
    std::memcpy(lanes, non_finite, sizeof(lanes));
    for (int32_t lane : lanes)
      any |= lane;
    return {list.count, any == 0, normaliser ? top + std::log(sum) : 0.0};
  }
};

row_summary reduce_baseline(const float *x, int64_t size, int32_t wanted, candidate *best, bool normaliser) {
  return row_reduction<vectors<16>>().run(x, size, wanted, best, normaliser);
}
__attribute__((target("avx2"))) row_summary reduce_avx2(const float *x, int64_t size, int32_t wanted, candidate *best, bool normaliser) {
  return row_reduction<vectors<32>>().run(x, size, wanted, best, normaliser);
}
__attribute__((target("avx512f,avx512dq,avx512bw,avx512vl"))) row_summary reduce_avx512(const float *x, int64_t size, int32_t wanted, candidate *best,
                                                                                        bool normaliser) {
  return row_reduction<vectors<64>>().run(x, size, wanted, best, normaliser);
}

} // namespace

row_reducer row_reducer_for(int isa) { return isa >= XF_ABI_AVX512 ? reduce_avx512 : isa >= XF_ABI_AVX2 ? reduce_avx2 : reduce_baseline; }

} // namespace xf::rt
