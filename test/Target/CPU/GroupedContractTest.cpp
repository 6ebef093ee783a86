// Products with factors of fewer bits: sizes that no panel, group or tile divides, on every instruction set.
#include "test/Target/CPU/ContractCheck.h"
#include "test/Target/CPU/FactorData.h"

using namespace xf::cpu;
using namespace xf::cpu::test;

namespace {

struct Problem {
  Problem(Factor factor, int64_t rows, int64_t columns, int64_t depth)
      : rows(rows), columns(columns), depth(depth), factors(factor, largestFirst(randomValues(rows * (depth + 5), 1), depth, 1),
                                                            largestFirst(randomValues(columns * depth, 2), depth, -1), columns, depth),
        scales(randomValues(rows, 3)), columnScales(randomValues(columns, 4)) {}

  /// The largest products that there can be, in the first row: sums of pairs must not saturate.
  static std::vector<float> largestFirst(std::vector<float> values, int64_t depth, float largest) {
    std::fill_n(values.begin(), depth, largest);
    return values;
  }

  std::vector<float> run(const Kernel &kernel, int threads, int64_t firstRow = 0) {
    // Only the rows' elements may be read: what stands between and behind them would be noticed.
    int64_t stride = depth + 5, count = rows - firstRow;
    return written(rows * columns, [&](float *y) {
      kernel({view(factors.xAt(firstRow * stride), {count, depth}, {stride, 1}), view(factors.panels(), {columns, depth}),
              view(scales.data() + firstRow, {count, 1}), view(columnScales, {columns}), view(factors.sums, {columns}),
              view(y + firstRow * columns, {count, columns})},
             threads);
    });
  }

  /// The product's elements, each the plain loop `sum(m, n)`, with their scales.
  template <typename Sum> std::vector<float> scaled(Sum sum) const {
    std::vector<float> y(rows * columns);
    for (int64_t m = 0; m < rows; ++m)
      for (int64_t n = 0; n < columns; ++n)
        y[m * columns + n] = sum(m, n) * (scales[m] * columnScales[n]);
    return y;
  }
  float x(int64_t m, int64_t k) const { return factors.x[m * (depth + 5) + k]; }
  float weight(int64_t n, int64_t k) const { return factors.weight[n * depth + k]; }

  /// Bytes: what every instruction set must give, to the bit.
  std::vector<float> exact() const {
    return scaled([&](int64_t m, int64_t n) {
      int32_t sum = 0;
      for (int64_t k = 0; k < depth; ++k)
        sum += static_cast<int32_t>(x(m, k)) * static_cast<int32_t>(weight(n, k));
      return static_cast<float>(sum);
    });
  }
  /// The chain of f32 multiply-adds, k ascending; the baseline rounds the products, too.
  std::vector<float> chained(Isa isa) const {
    return scaled([&](int64_t m, int64_t n) {
      float sum = 0;
      for (int64_t k = 0; k < depth; ++k) {
        volatile float product = x(m, k) * weight(n, k);
        sum = isa == Isa::baseline ? sum + product : std::fma(x(m, k), weight(n, k), sum);
      }
      return sum;
    });
  }
  /// Any chain of f32 multiply-adds.
  void expectNear(const std::vector<float> &y, const std::string &where) const {
    for (int64_t m = 0; m < rows; ++m)
      for (int64_t n = 0; n < columns; ++n) {
        ProductSum sum;
        for (int64_t k = 0; k < depth; ++k)
          sum.add(double(x(m, k)) * weight(n, k));
        double scale = double(scales[m]) * columnScales[n];
        ASSERT_NEAR(y[m * columns + n], sum.value() * scale, sum.allowed(2) * std::fabs(scale)) << where << " row " << m << " column " << n;
      }
  }

  int64_t rows, columns, depth;
  Factors factors;
  std::vector<float> scales, columnScales;
};

/// Whether bf16 are multiplied and added as f32.
bool multipliesAsF32(Isa isa) {
#ifdef XF_TEST_GPU_KERNELS
  return false;
#else
  return widensRows(isa, Factor::bf16);
#endif
}

class GroupedContractTest : public testing::TestWithParam<std::pair<int64_t, int64_t>> {
protected:
  void check(Factor factor) {
    auto [columns, depth] = GetParam();
    KernelHarness harness(factorContractText(columns, depth, factor));
    auto op = harness.find<mlir::xf::ContractOp>();
    for (Isa isa : runnableIsas(op)) {
      Kernel kernel = harness.compile(op, isa, {{1, 1, 1, 1, 1, 1}}),
             streaming = harness.compile(op, isa, {{1, 1, 1, 1, 1, 1}, /*weightsStream=*/true});
      for (int64_t rows : {1, 2, 3, 4, 5, 7, 12, 13, 29, 70, 133}) {
        if (rows > 70 && columns < 512)
          continue;
        Problem problem(factor, rows, columns, depth);
        std::vector<float> y = problem.run(kernel, 1);
        std::string where = isaName(isa).str() + " rows " + std::to_string(rows);
        if (factor == Factor::bf16 && !multipliesAsF32(isa))
          ASSERT_NO_FATAL_FAILURE(problem.expectNear(y, where));
        else
          ASSERT_EQ(y, factor == Factor::i8 ? problem.exact() : problem.chained(isa)) << where;
        ASSERT_NO_FATAL_FAILURE(expectInvariant(problem, kernel, streaming, y, where));
      }
    }
  }
};

#ifndef XF_TEST_GPU_KERNELS // which do not multiply bytes with bytes
TEST_P(GroupedContractTest, BytesAreExact) { check(Factor::i8); }
#endif
TEST_P(GroupedContractTest, BF16IsRightAndInvariant) { check(Factor::bf16); }
TEST_P(GroupedContractTest, ByteWeightsAreThePlainLoop) { check(Factor::i8_weights); }

INSTANTIATE_TEST_SUITE_P(Shapes, GroupedContractTest,
                         testing::Values(std::pair{64, 64}, std::pair{5, 16}, std::pair{176, 37}, std::pair{100, 1}, std::pair{33, 522},
                                         std::pair{48, 3}));
INSTANTIATE_TEST_SUITE_P(LargeShapes, GroupedContractTest, testing::Values(std::pair{70, 1100}, std::pair{20, 2100}));
#ifndef XF_TEST_GPU_KERNELS
/// Several parts of rows, of as many columns that not all sums wait for the next part; and several chunks of rows.
INSTANTIATE_TEST_SUITE_P(Sections, GroupedContractTest, testing::Values(std::pair{530, 530}));
#endif

} // namespace
