#include "runtime/core/logit_rules.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace xf::rt {

namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

} // namespace

void leave_out(float *logits, int64_t vocabulary, const uint32_t *forbidden) {
  for (int64_t word = 0; word * 32 < vocabulary; ++word)
    for (uint32_t bits = forbidden[word]; bits; bits &= bits - 1) {
      int64_t token = word * 32 + std::countr_zero(bits);
      if (token < vocabulary)
        logits[token] = kNever;
    }
}

void penalise_repetition(float *logits, std::span<const int32_t> read, double penalty, float *scratch) {
  for (size_t i = 0; i < read.size(); ++i) {
    double logit = logits[read[i]];
    scratch[i] = static_cast<float>(logit > 0 ? logit / penalty : logit * penalty);
  }
  for (size_t i = 0; i < read.size(); ++i)
    logits[read[i]] = scratch[i];
}

void forbid_repeated_ngrams(float *logits, std::span<const int32_t> read, int32_t length) {
  auto given = static_cast<size_t>(length - 1);
  if (read.size() < given)
    return;
  std::span<const int32_t> last = read.last(given);
  for (size_t begin = 0; begin + given < read.size(); ++begin)
    if (std::equal(last.begin(), last.end(), read.begin() + static_cast<std::ptrdiff_t>(begin)))
      logits[read[begin + given]] = kNever;
}

} // namespace xf::rt
