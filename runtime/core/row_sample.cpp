#include "runtime/core/row_sample.h"

#include "runtime/abi/xf_abi.h"
#include "runtime/abi/xf_exp.h"
#include "runtime/abi/xf_mix.h"
#include "runtime/core/row_vectors.h"

#include <algorithm>
#include <array>
#include <cmath>

#pragma GCC diagnostic ignored "-Wpsabi"

namespace xf::rt {

namespace {

constexpr int64_t kBlock = 512; // columns whose weights are added up together
constexpr int kSteps = 1024;    // that logits are divided into, from the largest candidate's to the least one's

// Best first, ties to the lower token.
bool is_better(const candidate &x, const candidate &y) { return x.logit != y.logit ? x.logit > y.logit : x.token < y.token; }

template <typename Set> class row_draw {
public:
  XF_INLINE row_draw(const float *logits, int64_t size, const sampling &params, candidate *scratch)
      : logits_(logits), size_(size), params_(params), best_(scratch), scale_(static_cast<float>(1.0 / params.temperature)),
        min_distance_(params.min_distance()) {
    for (int64_t block = 0; block < size; block += kBlock)
      top_ = std::max(top_, largest(block));
  }

  XF_INLINE candidate run(double uniform) {
    bool has_top_k = params_.top_k > 0 && params_.top_k < size_;
    if (!has_top_k && params_.top_p >= 1.0)
      return draw_of_all(uniform * weight_of_all<true>());
    float threshold = has_top_k ? top_k_threshold() : top_p_threshold();
    collect(threshold);
    if (has_top_k && params_.top_k < count_) {
      std::nth_element(best_, best_ + params_.top_k, best_ + count_, is_better);
      count_ = params_.top_k;
    }
    if (has_top_k && params_.top_k <= XF_ABI_MAX_CHOSEN)
      return draw_of_few(uniform);
    weigh_steps();
    double total = has_top_k ? weight_of_steps() : weight_of_all<false>();
    if (min_distance_ > kMinusInfinity)
      leave_near();
    double kept = keep_top_p(total);
    return draw_of_best(uniform * kept);
  }

private:
  using f32 = typename Set::f32;

  XF_INLINE int64_t columns(int64_t block) const { return std::min(kBlock, size_ - block); }
  XF_INLINE float largest(int64_t begin, int64_t width = kBlock) const {
    return largest_of<Set>(logits_ + begin, std::min(width, size_ - begin), [](int, f32) __attribute__((always_inline)) {});
  }
  // Weights are probabilities but for a factor; the largest is 1.
  XF_INLINE f32 weight(f32 v) const { return exp_negative<Set>((v - top_) * scale_); }
  XF_INLINE double weight(const candidate &c) const { return xf_exp((static_cast<double>(c.logit) - top_) / params_.temperature); }
  XF_INLINE bool is_near(float logit) const { return logit - top_ >= min_distance_; }
  // The weights of logits that are near the largest, 0 for others.
  XF_INLINE f32 near_weight(f32 v) const {
    using u32 = typename Set::u32;
    const typename Set::i32 are_near = v - top_ >= min_distance_;
    return (f32)((u32)weight(v) & (u32)are_near);
  }
  template <bool Near> XF_INLINE double weight_of_block(int64_t block) const {
    return sum_of<Set>(logits_ + block, columns(block), [this](f32 v) __attribute__((always_inline)) { return Near ? near_weight(v) : weight(v); });
  }
  template <bool Near> XF_INLINE double weight_of_all() const {
    double sum = 0;
    for (int64_t block = 0; block < size_; block += kBlock)
      sum += weight_of_block<Near>(block);
    return sum;
  }

  // The token where the running sum of weights of those that are near passes `goal`.
  XF_INLINE candidate draw_of_all(double goal) const {
    int64_t block = 0;
    double weight = weight_of_block<true>(0);
    for (; goal >= weight && block + kBlock < size_; weight = weight_of_block<true>(block)) {
      goal -= weight;
      block += kBlock;
    }
    // What rounding leaves over belongs to the last token that has any weight; should the block have none, to a best one.
    candidate found = {kMinusInfinity, -1};
    for (int64_t i = block; i < block + columns(block) && goal >= 0; ++i) {
      candidate here = {logits_[i], static_cast<int32_t>(i)};
      double token_weight = is_near(here.logit) ? this->weight(here) : 0.0;
      goal -= token_weight;
      if (token_weight > 0)
        found = here;
    }
    return found.token >= 0 ? found : *first_best();
  }
  XF_INLINE candidate *first_best() const {
    *best_ = {top_, static_cast<int32_t>(std::find(logits_, logits_ + size_, top_) - logits_)};
    return best_;
  }

  // A logit that each of the `top_k` best reaches: as many blocks have one that does.
  XF_INLINE float top_k_threshold() const {
    constexpr int64_t kFew = 64;
    int32_t blocks = 0;
    for (int64_t begin = 0; begin < size_; begin += kFew, ++blocks)
      best_[blocks] = {largest(begin, kFew), blocks};
    if (params_.top_k > blocks)
      return kMinusInfinity;
    std::nth_element(best_, best_ + params_.top_k - 1, best_ + blocks, is_better);
    return best_[params_.top_k - 1].logit;
  }
  // Tokens with less than (1 - p) / size of all probability have together less than what may be left out: none of them is
  // among the fewest that have the share p.
  XF_INLINE float top_p_threshold() const {
    double weight = (1.0 - params_.top_p) / static_cast<double>(size_) * weight_of_all<false>();
    return static_cast<float>(top_ + (std::log(weight) - 0.01) * params_.temperature); // lowered by more than rounding errors
  }
  XF_INLINE void collect(float threshold) {
    count_ = 0;
    for (int64_t block = 0; block < size_; block += kBlock)
      if (largest(block) >= threshold)
        for (int64_t i = block; i < block + columns(block); ++i)
          if (logits_[i] >= threshold && logits_[i] > kMinusInfinity)
            best_[count_++] = {logits_[i], static_cast<int32_t>(i)};
  }

  // As a device does it with the candidates that it finds anyway.
  XF_INLINE candidate draw_of_few(double uniform) const {
    std::sort(best_, best_ + count_, is_better);
    std::array<double, XF_ABI_MAX_CHOSEN> weights;
    double total = 0, kept = 0;
    for (int64_t i = 0; i < count_; ++i)
      total += weights[static_cast<size_t>(i)] = weight(best_[i]);
    int64_t count = 0;
    while (count < count_ && kept < params_.top_p * total && is_near(best_[count].logit))
      kept += weights[static_cast<size_t>(count++)];
    double goal = uniform * kept;
    int64_t drawn = 0;
    while (drawn + 1 < count && (goal -= weights[static_cast<size_t>(drawn)]) >= 0)
      ++drawn;
    return best_[drawn];
  }

  // Candidates may be most of a large vocabulary. So weights are added up by steps of logits: these sums say in which step a running sum of
  // weights, best first, passes a goal, and only that step's candidates are sorted.
  XF_INLINE void weigh_steps() {
    float min_logit = top_;
    for (int64_t i = 0; i < count_; ++i)
      min_logit = std::min(min_logit, best_[i].logit);
    double range = static_cast<double>(top_) - min_logit;
    steps_per_logit_ = range > 0 ? kSteps / range : 0.0;
    last_step_ = step_of({min_logit, 0});
    step_weights_.fill(0);
    for (int64_t i = 0; i < count_; ++i)
      step_weights_[static_cast<size_t>(step_of(best_[i]))] += weight(best_[i]);
  }
  XF_INLINE int step_of(const candidate &c) const {
    return std::min(kSteps - 1, static_cast<int>((static_cast<double>(top_) - c.logit) * steps_per_logit_));
  }
  XF_INLINE double &weight_of_step(int step) { return step_weights_[static_cast<size_t>(step)]; }
  // The step's candidates, best first. Better ones stand before them, worse ones behind.
  XF_INLINE std::span<candidate> order_step(int step) {
    candidate *end = best_ + count_;
    candidate *begin = std::partition(best_, end, [&](const candidate &c) { return step_of(c) < step; });
    end = std::partition(begin, end, [&](const candidate &c) { return step_of(c) == step; });
    std::sort(begin, end, is_better);
    return {begin, end};
  }

  XF_INLINE double weight_of_steps() const {
    double sum = 0;
    for (double weight : step_weights_)
      sum += weight;
    return sum;
  }
  // Keeps the candidates that are near.
  XF_INLINE void leave_near() {
    count_ = std::partition(best_, best_ + count_, [&](const candidate &c) { return is_near(c.logit); }) - best_;
    weigh_steps();
  }

  // Keeps the fewest candidates, best first, that have the share `top_p` of `total`, or all of them. Returns their weight.
  XF_INLINE double keep_top_p(double total) {
    double goal = params_.top_p * total, sum = 0;
    int step = 0;
    for (; step < last_step_ && sum + weight_of_step(step) < goal; ++step)
      sum += weight_of_step(step);
    last_step_ = step;
    weight_of_step(step) = 0;
    for (candidate &c : order_step(step)) {
      weight_of_step(step) += weight(c);
      count_ = &c + 1 - best_;
      if (sum + weight_of_step(step) >= goal)
        break;
    }
    return sum + weight_of_step(step);
  }
  // The candidate where the running sum of weights, best first, passes `goal`.
  XF_INLINE candidate draw_of_best(double goal) {
    int step = 0;
    for (; step < last_step_ && goal >= weight_of_step(step); ++step)
      goal -= weight_of_step(step);
    std::span<candidate> ordered = order_step(step);
    size_t i = 0;
    while (i + 1 < ordered.size() && (goal -= weight(ordered[i])) >= 0)
      ++i;
    return ordered[i];
  }

  const float *logits_;
  int64_t size_;
  const sampling &params_;
  candidate *best_;
  float scale_, min_distance_, top_ = kMinusInfinity;
  int64_t count_ = 0;
  double steps_per_logit_ = 0;
  int last_step_ = 0; // the least candidate's
  std::array<double, kSteps> step_weights_;
};

candidate sample_baseline(const float *x, int64_t size, const sampling &params, double uniform, candidate *scratch) {
  return row_draw<vectors<16>>(x, size, params, scratch).run(uniform);
}
__attribute__((target("avx2"))) candidate sample_avx2(const float *x, int64_t size, const sampling &params, double uniform, candidate *scratch) {
  return row_draw<vectors<32>>(x, size, params, scratch).run(uniform);
}
__attribute__((target("avx512f,avx512dq,avx512bw,avx512vl"))) candidate sample_avx512(const float *x, int64_t size, const sampling &params,
                                                                                      double uniform, candidate *scratch) {
  return row_draw<vectors<64>>(x, size, params, scratch).run(uniform);
}

} // namespace

float sampling::min_distance() const { return min_p > 0.0 ? static_cast<float>(temperature * std::log(min_p)) : kMinusInfinity; }

row_sampler row_sampler_for(int isa) { return isa >= XF_ABI_AVX512 ? sample_avx512 : isa >= XF_ABI_AVX2 ? sample_avx2 : sample_baseline; }

uint64_t mix(uint64_t seed, uint64_t value) {
  return xf_mix(seed, value, [](uint64_t constant) { return constant; });
}

uint64_t mix(uint64_t seed, std::span<const int32_t> tokens) {
  seed = mix(seed, tokens.size());
  for (int32_t token : tokens)
    seed = mix(seed, static_cast<uint32_t>(token));
  return seed;
}

double uniform(uint64_t bits) { return static_cast<double>(bits >> kXfUniformShift) * kXfUniformUnit; }

} // namespace xf::rt
