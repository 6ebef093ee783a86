#include "test/Target/CPU/ContractCheck.h"

#include <cmath>

using namespace xf::cpu;
using namespace xf::cpu::test;

namespace {

/// y = max(x Wᵀ + b, 0) + r.
std::string contractText(int64_t columns, int64_t depth) {
  std::string n = std::to_string(columns), k = std::to_string(depth);
  std::string x = "tensor<?x" + k + "xf32, #xf.dims<\"B\", \"\">>", y = "tensor<?x" + n + "xf32, #xf.dims<\"B\", \"\">>";
  std::string w = "tensor<" + n + "x" + k + "xf32>", bias = "tensor<" + n + "xf32>";
  return "module attributes {xf.bounds = {B = 512 : i64}} {\n"
         "xf.parameter @w : " +
         w + " path \"w\"\nxf.parameter @b : " + bias +
         " path \"b\"\n"
         "xf.entry @run(%x: " +
         x + " {xf.name = \"x\"}, %r: " + y + " {xf.name = \"r\"}) -> (" + y +
         " {xf.name = \"y\"}) {\n"
         "%w = xf.param @w : " +
         w + "\n%b = xf.param @b : " + bias +
         "\n"
         "%y = xf.contract %x, %w extras(%b, %r) maps [[1], [0, 1]] : " +
         x + ", " + w + " extras(" + bias + ", " + y + ") -> " + y +
         " {\n"
         "^bb0(%acc: f32, %bias: f32, %res: f32):\n"
         "%zero = arith.constant 0.0 : f32\n"
         "%s = arith.addf %acc, %bias : f32\n%m = arith.maximumf %s, %zero : f32\n%t = arith.addf %m, %res : f32\n"
         "xf.yield %t : f32\n}\nxf.return %y : " +
         y + "\n}\n}\n";
}

struct Problem {
  Problem(int64_t rows, int64_t columns, int64_t depth)
      : rows(rows), columns(columns), depth(depth), x(randomValues(rows * (depth + 8), 1)), weight(randomValues(columns * depth, 2)),
        packed(packPanels(weight, columns, depth)), bias(randomValues(columns, 3)), residual(randomValues(rows * columns, 4)) {}

  std::vector<float> run(const Kernel &kernel, int threads, int64_t firstRow = 0) {
    int64_t stride = depth + 8, count = rows - firstRow;
    return written(rows * columns, [&](float *y) {
      kernel({view(x.data() + firstRow * stride, {count, depth}, {stride, 1}), view(packed, {columns, depth}), view(bias, {columns}),
              view(residual.data() + firstRow * columns, {count, columns}), view(y + firstRow * columns, {count, columns})},
             threads);
    });
  }

  void expectRight(const std::vector<float> &y, const std::string &where) const {
    for (int64_t m = 0; m < rows; ++m)
      for (int64_t n = 0; n < columns; ++n) {
        ProductSum sum;
        for (int64_t k = 0; k < depth; ++k)
          sum.add(double(x[m * (depth + 8) + k]) * weight[n * depth + k]);
        double added = residual[m * columns + n], expected = std::max(sum.value() + bias[n], 0.0) + added;
        ASSERT_NEAR(y[m * columns + n], expected, sum.allowed(2, std::fabs(bias[n]) + std::fabs(added))) << where << " row " << m << " column " << n;
      }
  }

  int64_t rows, columns, depth;
  std::vector<float> x, weight, packed, bias, residual;
};

class ContractTest : public testing::TestWithParam<std::pair<int64_t, int64_t>> {};

TEST_P(ContractTest, IsRightAndInvariant) {
  auto [columns, depth] = GetParam();
  KernelHarness harness(contractText(columns, depth));
  auto op = harness.find<mlir::xf::ContractOp>();
  std::vector<std::vector<std::vector<float>>> byIsa;
  for (Isa isa : machineIsas()) {
    Kernel kernel = harness.compile(op, isa, {{1, 1, 1, 1, 1}}), streaming = harness.compile(op, isa, {{1, 1, 1, 1, 1}, /*weightsStream=*/true});
    byIsa.emplace_back();
    for (int64_t rows : {1, 2, 3, 4, 5, 7, 12, 13, 29, 70, 100, 300}) {
      Problem problem(rows, columns, depth);
      std::vector<float> y = problem.run(kernel, 1);
      std::string where = isaName(isa).str() + " rows " + std::to_string(rows);
      ASSERT_NO_FATAL_FAILURE(problem.expectRight(y, where));
      ASSERT_NO_FATAL_FAILURE(expectInvariant(problem, kernel, streaming, y, where));
      byIsa.back().push_back(y);
    }
  }
  if (byIsa.size() == 3) {
    EXPECT_EQ(byIsa[1], byIsa[2]) << "AVX2 and AVX-512 differ";
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, ContractTest,
                         testing::Values(std::pair{64, 64}, std::pair{5, 16}, std::pair{176, 37}, std::pair{100, 1},
                                         /*rows are interleaved*/ std::pair{272, 37}));
INSTANTIATE_TEST_SUITE_P(LargeShapes, ContractTest, testing::Values(std::pair{33, 520}, std::pair{40, 2600}));

/// Sums that are the result are written where it is, if whole vectors fit there: whatever its columns, and how far they are apart.
TEST(BareContractTest, IsRight) {
  const int64_t depth = 20;
  for (auto [columns, step] : {std::pair<int64_t, int64_t>{64, 1}, {64, 3}, {100, 1}}) {
    std::string n = std::to_string(columns), x = "tensor<?x20xf32, #xf.dims<\"B\", \"\">>", w = "tensor<" + n + "x20xf32>";
    std::string y = "tensor<?x" + n + "xf32, #xf.dims<\"B\", \"\">>";
    KernelHarness harness("module attributes {xf.bounds = {B = 512 : i64}} {\nxf.parameter @w : " + w +
                          " path \"w\"\n"
                          "xf.entry @run(%x: " +
                          x + " {xf.name = \"x\"}) -> (" + y + " {xf.name = \"y\"}) {\n%w = xf.param @w : " + w +
                          "\n%y = xf.contract %x, %w extras() maps [] : " + x + ", " + w + " -> " + y +
                          " {\n^bb0(%acc: f32):\nxf.yield %acc : f32\n}\nxf.return %y : " + y + "\n}\n}\n");
    for (Isa isa : machineIsas()) {
      Kernel kernel = harness.compile(harness.find<mlir::xf::ContractOp>(), isa, {{1, 1, step}});
      for (int64_t rows : {1, 5, 13, 70})
        for (int threads : {1, 3}) {
          std::vector<float> factors = randomValues(rows * depth, 1), weight = randomValues(columns * depth, 2);
          std::vector<float> packed = packPanels(weight, columns, depth), got(rows * columns * step + 16, -77.0f);
          kernel({view(factors, {rows, depth}), view(packed, {columns, depth}), view(got, {rows, columns}, {columns * step, step})}, threads);
          for (int64_t i = 0; i < int64_t(got.size()); ++i) {
            ProductSum sum;
            bool isElement = i % step == 0 && i < rows * columns * step;
            for (int64_t k = 0; isElement && k < depth; ++k)
              sum.add(double(factors[i / step / columns * depth + k]) * weight[i / step % columns * depth + k]);
            ASSERT_NEAR(got[i], isElement ? sum.value() : -77.0, sum.allowed())
                << isaName(isa).str() << " columns " << columns << " step " << step << " rows " << rows << " place " << i;
          }
        }
    }
  }
}

} // namespace
