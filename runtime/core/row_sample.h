// Drawing tokens from rows of logits.
#ifndef RUNTIME_CORE_ROW_SAMPLE_H
#define RUNTIME_CORE_ROW_SAMPLE_H

#include "runtime/core/row_best.h"

#include <cstdint>
#include <span>

namespace xf::rt {

// Which tokens are drawn from: the `top_k` best; of these the fewest, best first, that have together at least the share `top_p` of their
// probability (Holtzman et al. 2020, "The curious case of neural text degeneration"); and of these only those that are at least `min_p`
// times as probable as the best (Nguyen et al. 2024, "Turning up the heat"). Probabilities are proportional to e^(logit / temperature).
struct sampling {
  double temperature = 1.0;
  int32_t top_k = 0; // 0: all
  double top_p = 1.0;
  double min_p = 0.0;

  // What a token's logit minus the best one's, one subtraction of f32, is at least for min_p to keep it: 0 or less.
  float min_distance() const;
};

// Draws a token, where `uniform` lies in [0, 1). Of the logits one at least is above -inf, and all are numbers or -inf; `scratch`
// has room for `size` candidates. The same token with every instruction set.
using row_sampler = candidate (*)(const float *logits, int64_t size, const sampling &params, double uniform, candidate *scratch);

// The code for an instruction set (xf_abi_isa) that the CPU has.
row_sampler row_sampler_for(int isa);

// Numbers to draw with, as functions of what they are for: nothing is kept between draws, so that sentences cannot change each
// other's (xf_mix.h).
uint64_t mix(uint64_t seed, uint64_t value);
uint64_t mix(uint64_t seed, std::span<const int32_t> tokens);
double uniform(uint64_t bits); // in [0, 1)

} // namespace xf::rt

#endif
