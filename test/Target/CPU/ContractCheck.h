// What the tests of products share: the error that an element may have, and checks that its bits do not depend on threads or other rows.
#ifndef XF_TEST_TARGET_CPU_CONTRACTCHECK_H
#define XF_TEST_TARGET_CPU_CONTRACTCHECK_H

#include "test/Target/CPU/KernelHarness.h"

namespace xf::cpu::test {

/// A sum of products, and how far a chain of f32 multiply-adds may be from it.
///
/// Each step rounds its partial sum s by at most u |s| (u = 2^-24), in the worst case by u Σ|s| in all. But rounding errors are random, with a
/// standard deviation of at most u |s| / √3 each and u √(Σs² / 3) in all; 3 u √(Σs²) is five of these. Instruction sets add in other orders,
/// with partial sums of about the same size.
class ProductSum {
public:
  void add(double product) {
    sum += product;
    squares += sum * sum;
  }
  double value() const { return sum; }
  /// The error allowed if `roundings` more roundings follow the sum, each of a value of at most |sum| + `more`.
  double allowed(int roundings = 0, double more = 0) const { return 0x1p-24 * (3 * std::sqrt(squares) + roundings * (std::fabs(sum) + more)); }

private:
  double sum = 0, squares = 0;
};

/// The `count` floats that `write` writes; it must write nothing after them.
template <typename Write> std::vector<float> written(int64_t count, Write write) {
  std::vector<float> y(count + 16, -77.0f);
  write(y.data());
  for (size_t i = count; i < y.size(); ++i)
    EXPECT_EQ(y[i], -77.0f) << "written behind the result";
  y.resize(count);
  return y;
}

/// `y` is the result of `kernel` with one thread. More threads, the kernel for streamed weights and the rows before a row change no bit.
template <typename Problem>
void expectInvariant(Problem &problem, const Kernel &kernel, const Kernel &streaming, const std::vector<float> &y, const std::string &where) {
  for (int threads : {2, 3, 7})
    ASSERT_EQ(problem.run(kernel, threads), y) << where << " threads " << threads;
  ASSERT_EQ(problem.run(streaming, 2), y) << where << " streaming";
  std::vector<float> last = problem.run(kernel, 1, problem.rows - 1);
  ASSERT_TRUE(std::equal(last.end() - problem.columns, last.end(), y.end() - problem.columns)) << where << ": a row depends on its neighbours";
}

} // namespace xf::cpu::test

#endif // XF_TEST_TARGET_CPU_CONTRACTCHECK_H
