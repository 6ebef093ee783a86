#include "runtime/core/logit_rules.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace xf::rt {

namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

} // namespace

void leave_out(std::span<float> logits, const uint32_t *forbidden) {
  for (size_t word = 0; word * 32 < logits.size(); ++word)
    for (uint32_t bits = forbidden[word]; bits; bits &= bits - 1) {
      size_t token = word * 32 + static_cast<size_t>(std::countr_zero(bits));
      if (token < logits.size())
        logits[token] = kMinusInfinity;
    }
}

void penalise_repetition(std::span<float> logits, std::span<const int32_t> read, double penalty, float *scratch) {
  auto for_known = [&](auto &&visit) {
    for (size_t i = 0; i < read.size(); ++i)
      if (static_cast<size_t>(read[i]) < logits.size())
        visit(i, logits[static_cast<size_t>(read[i])]);
  };
  for_known([&](size_t i, double logit) { scratch[i] = static_cast<float>(logit > 0 ? logit / penalty : logit * penalty); });
  for_known([&](size_t i, float &logit) { logit = scratch[i]; });
}

void forbid_repeated_ngrams(std::span<float> logits, std::span<const int32_t> read, int32_t length) {
  auto given = static_cast<size_t>(length - 1);
  if (read.size() < given)
    return;
  std::span<const int32_t> last = read.last(given);
  for (size_t begin = 0; begin + given < read.size(); ++begin)
    if (auto token = static_cast<size_t>(read[begin + given]);
        token < logits.size() && std::equal(last.begin(), last.end(), read.begin() + static_cast<std::ptrdiff_t>(begin)))
      logits[token] = kMinusInfinity;
}

} // namespace xf::rt
