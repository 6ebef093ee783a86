// What the tests of products share: how near an element must be, and what may not change its bits.
#ifndef XF_TEST_TARGET_CPU_CONTRACTCHECK_H
#define XF_TEST_TARGET_CPU_CONTRACTCHECK_H

#include "test/Target/CPU/KernelHarness.h"

namespace xf::cpu::test {

/// A sum of products, and how far a chain of f32 multiply-adds may be from it.
///
/// Each step rounds the partial sum s that it makes, by u |s| at most (u = 2^-24); at worst that is u Σ|s| in all. But roundings are
/// random, of a standard deviation of u |s| / √3 at most, and add up to u √(Σs² / 3). Three times u √(Σs²) is five of these. Instruction
/// sets have chains of other orders, whose partial sums are about as large.
class ProductSum {
public:
  void add(double product) {
    sum += product;
    squares += sum * sum;
  }
  double value() const { return sum; }
  /// With so many roundings behind the sum, each of no more than |sum| + `more`.
  double allowed(int roundings = 0, double more = 0) const { return 0x1p-24 * (3 * std::sqrt(squares) + roundings * (std::fabs(sum) + more)); }

private:
  double sum = 0, squares = 0;
};

/// What `write` puts into so many floats; it must write nothing behind them.
template <typename Write> std::vector<float> written(int64_t count, Write write) {
  std::vector<float> y(count + 16, -77.0f);
  write(y.data());
  for (size_t i = count; i < y.size(); ++i)
    EXPECT_EQ(y[i], -77.0f) << "written behind the result";
  y.resize(count);
  return y;
}

/// `y` is what `kernel` gives with one thread: more threads, the kernel for weights that stream, and the rows before a row change no bit.
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
