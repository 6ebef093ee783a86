// The natural logarithm of f64, for which the host and the GPU's code must have the same bits: one order of operations, for the
// runtime's doubles as for values that the compiler emits. It is within 1 ulp.
#ifndef XF_LOG_H
#define XF_LOG_H

#include <bit>
#include <cstdint>

// A normal number x > 0 is fraction * 2^exponent with sqrt(1/2) <= fraction < sqrt(2), by integer operations on its bits:
//   exponent = (bits - kXfLogSqrtHalf) >> 52 (arithmetic), fraction's bits = bits - (exponent << 52).
inline constexpr int64_t kXfLogSqrtHalf = 0x3fe6a09e667f3bcd;

// Real has +, -, * and / of f64, each rounded; `constant` makes one of a double. As FreeBSD's e_log.c.
template <typename Real, typename Constant> Real xf_log_of_parts(Real fraction, Real exponent, Constant constant) {
  const Real f = fraction - constant(1.0), s = f / (constant(2.0) + f), z = s * s, w = z * z;
  const Real even = w * (constant(3.999999999940941908e-01) + w * (constant(2.222219843214978396e-01) + w * constant(1.531383769920937332e-01)));
  const Real odd = z * (constant(6.666666666666735130e-01) +
                        w * (constant(2.857142874366239149e-01) + w * (constant(1.818357216161805012e-01) + w * constant(1.479819860511658591e-01))));
  const Real half = constant(0.5) * f * f, low = exponent * constant(1.90821492927058770002e-10);
  return exponent * constant(6.93147180369123816490e-01) - ((half - (s * (half + (even + odd)) + low)) - f);
}

inline double xf_log(double x) {
  auto bits = std::bit_cast<int64_t>(x);
  int64_t exponent = (bits - kXfLogSqrtHalf) >> 52;
  return xf_log_of_parts(std::bit_cast<double>(bits - (exponent << 52)), static_cast<double>(exponent), [](double value) { return value; });
}

#endif
