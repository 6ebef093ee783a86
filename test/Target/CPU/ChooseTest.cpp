// The vocabulary reduction: right, the same bits for any number of threads and rows, with columns that are forbidden, and
// with factors of every type.
#include "test/Target/CPU/FactorData.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

using namespace xf::cpu;
using namespace xf::cpu::test;
using mlir::xf::ChooseOp;

namespace {

constexpr int64_t kMaxCandidates = 8;

/// What a sum of products of bytes is divided by, for logits of the size that they have in f32.
constexpr float unitOf(Factor factor) { return factor == Factor::i8 ? 16384 : factor == Factor::i8_weights ? 128 : 1; }

/// Logits x Wᵀ + b of the last of the positions. Bytes of x mean what they hold less 128.
std::string chooseText(int64_t columns, int64_t depth, int64_t axis, Factor factor = Factor::f32) {
  FactorTypes types = typesOf(factor);
  std::string n = std::to_string(columns), k = std::to_string(depth), maxCandidates = std::to_string(kMaxCandidates);
  std::string names = axis == 1 ? "\"B\", \"N\"" : "\"N\", \"B\"";
  std::string x = "tensor<?x?x" + k + "x" + types.x + ", #xf.dims<" + names + ", \"\">>", w = "tensor<" + n + "x" + k + "x" + types.weight + ">";
  std::string rows = ", #xf.dims<\"B\", \"\">>", bias = "tensor<" + n + "xf32>", sums = "tensor<" + n + "xi32>";
  std::string f = "tensor<?x" + std::to_string(ChooseOp::countWords(columns)) + "xi32, #xf.dims<\"C\", \"\">>";
  std::string results = "tensor<?x" + maxCandidates + "xf32" + rows + ", tensor<?x" + maxCandidates + "xi32" + rows + ", tensor<?x2xf32" + rows;
  std::string parts = "tensor<?x" + std::to_string(ChooseOp::countParts(columns, kMaxCandidates)) + "xf32" + rows;
  std::string exact = "%z = arith.constant 128 : i32\n%d = arith.muli %sum, %z : i32\n%e = arith.subi %acc, %d : i32\n"
                      "%g = arith.sitofp %e : i32 to f32\n";
  std::string product = factor == Factor::i8 ? exact + "%y = arith.divf %g, %unit : f32\n" : "%y = arith.divf %acc, %unit : f32\n";
  return "module attributes {xf.bounds = {B = 512 : i64, N = 8 : i64, C = 8 : i64}} {\n"
         "xf.parameter @b : " +
         bias +
         " path \"b\"\n"
         "xf.entry @run(%x: " +
         x + " {xf.name = \"x\"}, %f: " + f +
         " {xf.name = \"f\"}, %c: tensor<?xi32, #xf.dims<\"B\">> "
         "{xf.name = \"c\"}, %o: tensor<2xi32> {xf.name = \"o\"}, %w: " +
         w + " {xf.name = \"w\"}, %u: " + sums +
         " {xf.name = \"u\"}) {\n"
         "%b = xf.param @b : " +
         bias +
         "\n"
         "%v, %t, %m, %p = xf.choose %x, %w axis " +
         std::to_string(axis) + " forbidden %f by %c options %o extras(%b, %u) maps [[2], [2]] : " + x + ", " + w + ", " + f +
         ", tensor<?xi32, #xf.dims<\"B\">>, tensor<2xi32> extras(" + bias + ", " + sums + ") -> " + results + ", " + parts +
         " {\n^bb0(%acc: " + types.sum + ", %bias: f32, %sum: i32):\n%unit = arith.constant " + std::to_string(unitOf(factor)) + " : f32\n" +
         product +
         "%s = arith.addf %y, %bias : f32\nxf.yield %s : f32\n}\n"
         "xf.return\n}\n}\n";
}

struct Choice {
  std::vector<float> values, norms;
  std::vector<int32_t> tokens;
  bool operator==(const Choice &other) const { return values == other.values && tokens == other.tokens && norms == other.norms; }
};

struct Problem {
  Problem(Factor factor, int64_t rows, int64_t columns, int64_t depth, int64_t axis, int64_t positions = 3, float largest = 1)
      : rows(rows), columns(columns), depth(depth), axis(axis), positions(positions), unit(unitOf(factor)),
        factors(factor, multiplied(randomValues(rows * positions * depth, 1), largest), randomValues(columns * depth, 2), columns, depth),
        bias(randomValues(columns, 3)), forbidden(4 * ChooseOp::countWords(columns)), classes(rows) {
    // Class 0 allows everything, 1 but a few columns, 2 few columns, 3 nothing.
    for (int64_t n = 0; n < columns; ++n)
      for (int64_t c = 0; c < 4; ++c)
        if (c == 3 || (c == 1 && n % 7 == 3) || (c == 2 && n / 16 % 5 != 1))
          forbidden[c * ChooseOp::countWords(columns) + n / 32] |= 1u << n % 32;
    for (int64_t row = 0; row < rows; ++row)
      classes[row] = row % 4;
  }

  static std::vector<float> multiplied(std::vector<float> values, float factor) {
    for (float &value : values)
      value *= factor;
    return values;
  }

  /// Rows from `first` on, the same as alone.
  Choice run(const Kernel &kernel, int threads, int32_t wanted, bool sums, int64_t first = 0) {
    int64_t count = rows - first, parts = ChooseOp::countParts(columns, kMaxCandidates);
    Choice result{std::vector<float>(count * kMaxCandidates, -77), std::vector<float>(count * 2, -77),
                  std::vector<int32_t>(count * kMaxCandidates, -77)};
    std::vector<float> exchanged(count * parts, std::nanf(""));
    int32_t options[] = {wanted, sums};
    int64_t rowStride = axis == 1 ? positions * depth : depth, positionStride = axis == 1 ? depth : rows * depth;
    void *start = factors.xAt(first * rowStride);
    auto rowsView = axis == 1 ? view(start, {count, positions, depth}, {rowStride, positionStride, 1})
                              : view(start, {positions, count, depth}, {positionStride, rowStride, 1});
    std::vector<int32_t> own(classes.begin() + first, classes.end());
    int64_t kinds = *std::max_element(own.begin(), own.end()) + 1;
    kernel.together({rowsView, view(factors.panels(), {columns, depth}), view(forbidden, {kinds, ChooseOp::countWords(columns)}), view(own, {count}),
                     view(options, {2}), view(bias, {columns}), view(factors.sums, {columns}), view(result.values, {count, kMaxCandidates}),
                     view(result.tokens, {count, kMaxCandidates}), view(result.norms, {count, 2}), view(exchanged, {count, parts})},
                    threads);
    return result;
  }

  std::vector<double> logits(int64_t row) const {
    std::vector<double> y(columns);
    const float *a = factors.x.data() + (axis == 1 ? row * positions + positions - 1 : (positions - 1) * rows + row) * depth;
    for (int64_t n = 0; n < columns; ++n) {
      for (int64_t k = 0; k < depth; ++k)
        y[n] += double(a[k]) * factors.weight[n * depth + k];
      y[n] = y[n] / unit + bias[n];
      if (forbidden[classes[row] * ChooseOp::countWords(columns) + n / 32] >> n % 32 & 1)
        y[n] = -INFINITY;
    }
    return y;
  }

  int64_t rows, columns, depth, axis, positions;
  float unit;
  Factors factors;
  std::vector<float> bias;
  std::vector<uint32_t> forbidden;
  std::vector<int32_t> classes;
};

void expectRight(const Problem &problem, const Choice &got, int32_t wanted, const std::string &where) {
  for (int64_t row = 0; row < problem.rows; ++row) {
    std::vector<double> y = problem.logits(row);
    std::vector<int> order(problem.columns);
    std::iota(order.begin(), order.end(), 0);
    order.erase(std::remove_if(order.begin(), order.end(), [&](int n) { return std::isinf(y[n]); }), order.end());
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return y[a] > y[b]; });
    double sum = 0;
    for (int n : order)
      sum += std::exp(y[n] - y[order[0]]);
    for (int64_t i = 0; i < kMaxCandidates; ++i) {
      bool there = i < wanted && i < int64_t(order.size());
      ASSERT_EQ(got.tokens[row * kMaxCandidates + i], there ? order[i] : -1) << where << " row " << row << " place " << i;
      if (there)
        ASSERT_NEAR(got.values[row * kMaxCandidates + i], y[order[i]], 1e-5 * problem.depth) << where;
      else
        ASSERT_EQ(got.values[row * kMaxCandidates + i], -INFINITY) << where;
    }
    if (order.empty()) {
      ASSERT_EQ(got.norms[2 * row], -INFINITY) << where;
      ASSERT_EQ(got.norms[2 * row + 1], 0) << where;
    } else {
      ASSERT_EQ(got.norms[2 * row], got.values[row * kMaxCandidates]) << where;
      ASSERT_NEAR(got.norms[2 * row + 1] / sum, 1, 1e-5) << where;
    }
  }
}

class ChooseTest : public testing::TestWithParam<std::tuple<int64_t, int64_t, int64_t>> {
protected:
  void check(Factor factor) {
    auto [columns, depth, axis] = GetParam();
    KernelHarness harness(chooseText(columns, depth, axis, factor));
    auto op = harness.find<ChooseOp>();
    std::map<Isa, std::vector<Choice>> byIsa;
    for (Isa isa : runnableIsas(op)) {
      Kernel kernel = harness.compile(op, isa, {llvm::SmallVector<int64_t>(11, 1)});
      for (int64_t rows : {1, 2, 4, 13, 29, 70}) {
        Problem problem(factor, rows, columns, depth, axis);
        for (int32_t wanted : {1, 5, 8}) {
          std::string where = isaName(isa).str() + " rows " + std::to_string(rows) + " wanted " + std::to_string(wanted);
          Choice one = problem.run(kernel, 1, wanted, true);
          expectRight(problem, one, wanted, where);
          for (int threads : {2, 3, 5})
            ASSERT_TRUE(problem.run(kernel, threads, wanted, true) == one) << where << " threads " << threads;
          Choice last = problem.run(kernel, 2, wanted, true, rows - 1);
          ASSERT_TRUE(std::equal(last.norms.begin(), last.norms.end(), one.norms.end() - 2)) << where << ": a row depends on its neighbours";
          ASSERT_TRUE(std::equal(last.tokens.begin(), last.tokens.end(), one.tokens.end() - kMaxCandidates)) << where;
          Choice without = problem.run(kernel, 1, wanted, false);
          ASSERT_EQ(without.tokens, one.tokens) << where;
          byIsa[isa].push_back(one);
        }
      }
    }
    // BF16 instructions round in an order of their own.
    for (auto &[isa, choices] : byIsa)
      if (isa > Isa::avx2 && isa != Isa::avx512_bf16)
        EXPECT_TRUE(choices == byIsa[Isa::avx2]) << "AVX2 and " << isaName(isa).str() << " differ";
  }
};

TEST_P(ChooseTest, IsRightAndInvariant) { check(Factor::f32); }
TEST_P(ChooseTest, IsRightInBF16) { check(Factor::bf16); }
TEST_P(ChooseTest, IsRightWithByteWeights) { check(Factor::i8_weights); }
#ifndef XF_TEST_GPU_KERNELS // which do not multiply bytes with bytes
TEST_P(ChooseTest, IsRightInBytes) { check(Factor::i8); }
#endif

INSTANTIATE_TEST_SUITE_P(Shapes, ChooseTest, testing::Values(std::tuple{5, 16, 1}, std::tuple{128, 8, 1}, std::tuple{129, 8, 0}));
INSTANTIATE_TEST_SUITE_P(LargeShapes, ChooseTest, testing::Values(std::tuple{1000, 33, 0}, std::tuple{2500, 20, 1}));

TEST(Choose, SumsExponentialsOfLogitsFarFromZero) {
  // What is added to the columns of one block and of the next, in turn.
  const std::vector<float> offsets[] = {{100}, {-100}, {59, -59}, {100, 0}, {-61, -100}, {0, -61, 61}, {-59, -100, -62}};
  for (Factor factor : {Factor::f32, Factor::bf16}) {
    KernelHarness harness(chooseText(1000, 8, 1, factor));
    for (Isa isa : machineIsas()) {
      Kernel kernel = harness.compile(harness.find<ChooseOp>(), isa, {llvm::SmallVector<int64_t>(11, 1)});
      for (const std::vector<float> &offset : offsets) {
        Problem problem(factor, 13, 1000, 8, 1);
        for (int64_t n = 0; n < 1000; ++n)
          problem.bias[n] += offset[n / ChooseOp::kBlock % offset.size()];
        Choice one = problem.run(kernel, 1, 8, true);
        expectRight(problem, one, 8, isaName(isa).str() + " offset " + std::to_string(offset[0]));
        EXPECT_TRUE(problem.run(kernel, 3, 8, true) == one);
      }
    }
  }
}

TEST(Choose, KeepsTheOrderOfEqualsAndNoticesWhatIsNoNumber) {
  KernelHarness harness(chooseText(300, 1, 1));
  for (Isa isa : machineIsas()) {
    Kernel kernel = harness.compile(harness.find<ChooseOp>(), isa, {llvm::SmallVector<int64_t>(11, 1)});
    Problem problem(Factor::f32, 2, 300, 1, 1, 1, /*largest=*/0);
    problem.classes = {0, 0};
    for (int64_t n = 0; n < 300; ++n)
      problem.bias[n] = n % 50 == 7 ? 2.0f : n % 3 == 0 ? 1.0f : 0.0f;
    for (int threads : {1, 2, 3}) {
      Choice got = problem.run(kernel, threads, 8, true);
      EXPECT_EQ(std::vector<int32_t>(got.tokens.begin(), got.tokens.begin() + 8), (std::vector<int32_t>{7, 57, 107, 157, 207, 257, 0, 3}));
      EXPECT_FALSE(std::isnan(got.norms[0]));
    }
    for (float nonFinite : {INFINITY, std::nanf("")})
      for (int64_t n : {0, 130, 299}) {
        Problem bad = problem;
        bad.bias[n] = nonFinite;
        EXPECT_TRUE(std::isnan(bad.run(kernel, 2, 8, true).norms[0]));
        // Where nobody may choose it, it does no harm.
        for (auto &word : bad.forbidden)
          word = 0;
        bad.forbidden[n / 32] = 1u << n % 32;
        EXPECT_FALSE(std::isnan(bad.run(kernel, 2, 8, true).norms[0]));
      }
  }
}

} // namespace
