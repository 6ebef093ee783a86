// Attention's results for one query, in f64.
#ifndef XF_TEST_TARGET_CPU_SOFTMAXREFERENCE_H
#define XF_TEST_TARGET_CPU_SOFTMAXREFERENCE_H

#include "test/Target/CPU/FactorData.h"

namespace xf::cpu::test {

/// The softmax of a query's scores.
struct SoftmaxReference {
  explicit SoftmaxReference(std::vector<double> scores) : exponentials(std::move(scores)) {
    double max = -std::numeric_limits<double>::infinity();
    for (double x : exponentials)
      max = std::max(max, x);
    // If the mask hides all keys, probabilities are 0.
    bool none = max == -std::numeric_limits<double>::infinity();
    for (double &x : exponentials)
      sum += (x = none ? 0 : std::exp(x - max));
    sum = none ? 1 : sum;
  }
  double probability(int64_t key) const { return exponentials[key] / sum; }

  /// An element of the context. value(j) is that element of key j's value; `rounds`: exponentials are rounded to bf16.
  double context(bool rounds, llvm::function_ref<double(int64_t)> value) const {
    double all = 0;
    for (size_t j = 0; j < exponentials.size(); ++j)
      all += (rounds ? toFloat(toBF16(static_cast<float>(exponentials[j]))) : exponentials[j]) / sum * value(j);
    return all;
  }

  testing::AssertionResult isNear(float got, double expected, double allowed) const {
    if (std::abs(got - expected) <= allowed)
      return testing::AssertionSuccess();
    return testing::AssertionFailure() << got << " is not " << expected;
  }

  std::vector<double> exponentials;
  double sum = 0;
};

/// Allows for exponentials in bf16, and for a context in bf16, that are rounded the other way.
inline double allowedError(bool narrow, bool narrowContext) { return narrowContext ? 6e-3 : narrow ? 1e-3 : 3e-6; }

} // namespace xf::cpu::test

#endif // XF_TEST_TARGET_CPU_SOFTMAXREFERENCE_H
