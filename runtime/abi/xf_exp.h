// e^x of f64 for x <= 0, for which the host and the GPU's code must have the same bits (compare xf_log.h). It is within 1 ulp.
#ifndef XF_EXP_H
#define XF_EXP_H

#include <bit>
#include <cstdint>

// shifted = x * kXfExpLog2e + kXfExpShift rounds x / ln 2 to an integer, which its low bits are, too. Then
//   e^x = 2^n * xf_exp_of_parts(x, n), n = shifted - kXfExpShift,
// where the bits of shifted, shifted by 52, are added to those of the exponential. Below kXfExpMin it counts as 0.
inline constexpr double kXfExpLog2e = 1.44269504088896338700, kXfExpShift = 0x1.8p52, kXfExpMin = -708.0;

// Real has +, -, * and / of f64, each rounded; `constant` makes one of a double. As FreeBSD's e_exp.c.
template <typename Real, typename Constant> Real xf_exp_of_parts(Real x, Real n, Constant constant) {
  const Real high = x - n * constant(6.93147180369123816490e-01), low = n * constant(1.90821492927058770002e-10);
  const Real r = high - low, t = r * r;
  const Real c = r - t * (constant(1.66666666666666019037e-01) +
                          t * (constant(-2.77777777770155933842e-03) +
                               t * (constant(6.61375632143793436117e-05) +
                                    t * (constant(-1.65339022054652515390e-06) + t * constant(4.13813679705723846039e-08)))));
  return constant(1.0) - ((low - r * c / (constant(2.0) - c)) - high);
}

inline double xf_exp(double x) {
  if (!(x >= kXfExpMin))
    return 0.0;
  double shifted = x * kXfExpLog2e + kXfExpShift;
  double exponential = xf_exp_of_parts(x, shifted - kXfExpShift, [](double value) { return value; });
  return std::bit_cast<double>(std::bit_cast<int64_t>(exponential) + (std::bit_cast<int64_t>(shifted) << 52));
}

// The same for f32, within 2 ulp: shifted = x * kXfShortExpLog2e + kXfShortExpShift, whose bits are shifted by 23. Real may be a vector, which
// crosses no function's boundary.
inline constexpr float kXfShortExpLog2e = 1.44269504088896341f, kXfShortExpShift = 0x1.8p23f, kXfShortExpMin = -87.0f;

template <typename Real, typename Constant>
inline __attribute__((always_inline)) Real xf_short_exp_of_parts(const Real &x, const Real &n, const Constant &constant) {
  const Real r = (x - n * constant(0.693359375f)) - n * constant(-2.12194440e-4f);
  Real p = r * constant(1.9875691500e-4f) + constant(1.3981999507e-3f);
  p = p * r + constant(8.3334519073e-3f);
  p = p * r + constant(4.1665795894e-2f);
  p = p * r + constant(1.6666665459e-1f);
  p = p * r + constant(5.0000001201e-1f);
  return p * r * r + r + constant(1.0f);
}

#endif
