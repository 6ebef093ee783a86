// The vocabulary reduction with a screen: what it leaves out changes no bit of the result.
#include "test/Target/CPU/FactorData.h"

#include <cmath>
#include <cstring>
#include <random>

using namespace xf::cpu;
using namespace xf::cpu::test;
using mlir::xf::ChooseOp;

namespace {

constexpr int64_t kMost = 8, kColumns = 2067, kDepth = 64, kWords = (kColumns + 127) / 128 * 4;
const int64_t kParts = ChooseOp::countParts(kColumns, kMost) + ChooseOp::countScreened(kColumns, kDepth);

/// Logits x Wᵀ / 2 + b.
std::string text(Factor factor) {
  std::string type = typesOf(factor).x, n = std::to_string(kColumns), k = std::to_string(kDepth), most = std::to_string(kMost);
  auto column = [&](std::string element) { return "tensor<" + n + "x" + element + ">"; };
  auto rows = [](std::string width, std::string element) { return "tensor<?x" + width + element + ", #xf.dims<\"B\", \"\">>"; };
  std::string x = "tensor<?x?x" + k + "x" + type + ", #xf.dims<\"B\", \"N\", \"\">>", w = column(k + "x" + type), p = column(k + "xi8");
  std::string f = "tensor<?x" + std::to_string(kWords) + "xi32, #xf.dims<\"C\", \"\">>", c = "tensor<?xi32, #xf.dims<\"B\">>";
  std::string screen = p + ", " + column("f32") + ", " + column("i32") + ", " + column("f32") + ", " + column("f32");
  auto argument = [](std::string name, std::string type) { return "%" + name + ": " + type + " {xf.name = \"" + name + "\"}"; };
  return "module attributes {xf.bounds = {B = 64 : i64, N = 1 : i64, C = 8 : i64}} {\nxf.entry @run(" + argument("x", x) + ", " +
         argument("w", w) + ", " + argument("f", f) + ", " + argument("c", c) + ", " + argument("o", "tensor<2xi32>") + ", " +
         argument("b", column("f32")) + ", " + argument("p", p) + ", " + argument("t", column("f32")) + ", " + argument("u", column("i32")) +
         ", " + argument("l", column("f32")) + ", " + argument("e", column("f32")) + ") {\n"
         "%v, %i, %m, %q = xf.choose %x, %w axis 1 forbidden %f by %c options %o extras(%b) maps [[2]] screen(%p, %t, %u, %l, %e) : " +
         x + ", " + w + ", " + f + ", " + c + ", tensor<2xi32> extras(" + column("f32") + ") screen(" + screen + ") -> " +
         rows(most + "x", "f32") + ", " + rows(most + "x", "i32") + ", " + rows("2x", "f32") + ", " + rows(std::to_string(kParts) + "x", "f32") +
         " {\n^bb0(%acc: f32, %bias: f32):\n%half = arith.constant 0.5 : f32\n%y = arith.mulf %acc, %half : f32\n"
         "%s = arith.addf %y, %bias : f32\nxf.yield %s : f32\n}\nxf.return\n}\n}\n";
}

struct Screen {
  explicit Screen(const std::vector<float> &weight) : scales(kColumns), lengths(kColumns), errors(kColumns), sums(kColumns) {
    std::vector<int8_t> plain(weight.size());
    for (int64_t n = 0; n < kColumns; ++n) {
      const float *row = weight.data() + n * kDepth;
      float largest = 0;
      for (int64_t k = 0; k < kDepth; ++k)
        largest = std::max(largest, std::fabs(row[k]));
      scales[n] = largest / 127;
      double length = 0, error = 0;
      for (int64_t k = 0; k < kDepth; ++k) {
        int8_t &element = plain[n * kDepth + k];
        element = static_cast<int8_t>(largest > 0 ? std::nearbyint(row[k] / largest * 127) : 0);
        sums[n] += element;
        length += double(row[k]) * row[k];
        error += std::pow(row[k] - double(scales[n]) * element, 2);
      }
      lengths[n] = std::nextafter(static_cast<float>(std::sqrt(length)), INFINITY);
      errors[n] = std::nextafter(static_cast<float>(std::sqrt(error)), INFINITY);
    }
    bytes = packGroups(plain, kColumns, kDepth, 4);
  }
  std::vector<int8_t> bytes;
  std::vector<float> scales, lengths, errors;
  std::vector<int32_t> sums;
};

struct Choice {
  std::vector<float> values, norms;
  std::vector<int32_t> tokens;
};

struct Problem {
  Problem(Factor factor, const std::vector<float> &x, const std::vector<float> &weight)
      : rows(x.size() / kDepth), factors(factor, x, weight, kColumns, kDepth), screen(factors.weight), bias(kColumns), forbidden(3 * kWords),
        classes(rows) {
    // Class 0 allows everything, 1 few columns, 2 nothing.
    for (int64_t n = 0; n < 32 * kWords; ++n)
      for (int64_t c : {1, 2})
        if (c == 2 || n / 16 % 3 || n % 5 == 1)
          forbidden[c * kWords + n / 32] |= 1u << n % 32;
  }

  Choice run(const Kernel &kernel, int threads, int32_t wanted, bool sums) {
    Choice result{std::vector<float>(rows * kMost, -77), std::vector<float>(rows * 2, -77), std::vector<int32_t>(rows * kMost, -77)};
    std::vector<float> parts(rows * kParts, std::nanf(""));
    int32_t options[] = {wanted, sums};
    kernel.together({view(factors.xAt(0), {rows, 1, kDepth}), view(factors.panels(), {kColumns, kDepth}), view(forbidden, {3, kWords}),
                     view(classes, {rows}), view(options, {2}), view(bias, {kColumns}), view(screen.bytes, {kColumns, kDepth}),
                     view(screen.scales, {kColumns}), view(screen.sums, {kColumns}), view(screen.lengths, {kColumns}),
                     view(screen.errors, {kColumns}), view(result.values, {rows, kMost}), view(result.tokens, {rows, kMost}),
                     view(result.norms, {rows, 2}), view(parts, {rows, kParts})},
                    threads);
    return result;
  }

  /// The same with and without the screen, which nothing that asks for sums uses.
  void expectSame(const Kernel &kernel, const std::string &where) {
    for (int32_t wanted : {1, 3, 8})
      for (int threads : {1, 2, 5}) {
        Choice all = run(kernel, threads, wanted, true), few = run(kernel, threads, wanted, false);
        std::string what = where + " wanted " + std::to_string(wanted) + " threads " + std::to_string(threads);
        ASSERT_EQ(few.tokens, all.tokens) << what;
        ASSERT_EQ(std::memcmp(few.values.data(), all.values.data(), all.values.size() * sizeof(float)), 0) << what;
        for (int64_t row = 0; row < rows; ++row)
          ASSERT_TRUE(few.norms[2 * row] == all.norms[2 * row] || (std::isnan(few.norms[2 * row]) && std::isnan(all.norms[2 * row])))
              << what << " row " << row;
      }
  }

  int64_t rows;
  Factors factors;
  Screen screen;
  std::vector<float> bias;
  std::vector<uint32_t> forbidden;
  std::vector<int32_t> classes;
};

class ChooseScreenTest : public testing::TestWithParam<Factor> {
protected:
  void forKernels(llvm::function_ref<void(const Kernel &, const std::string &)> body) {
    KernelHarness harness(text(GetParam()));
    auto op = harness.find<ChooseOp>();
    for (Isa isa : runnableIsas(op))
      body(harness.compile(op, isa, {llvm::SmallVector<int64_t>(15, 1)}), isaName(isa).str());
  }
  std::vector<float> weight = randomNumbers(kColumns * kDepth, 7);
};

TEST_P(ChooseScreenTest, ChangesNothing) {
  forKernels([&](const Kernel &kernel, const std::string &isa) {
    for (int64_t rows : {1, 5, 13, 40}) {
      Problem problem(GetParam(), randomNumbers(rows * kDepth, 8), weight);
      problem.bias = randomNumbers(kColumns, 9);
      problem.expectSame(kernel, isa);
      for (int64_t row = 0; row < rows; ++row)
        problem.classes[row] = row % 3;
      problem.expectSame(kernel, isa + " with forbidden columns");
    }
  });
}

TEST_P(ChooseScreenTest, KeepsTheOrderOfLogitsThatAreAlmostEqual) {
  // Columns that point where the row does, and that differ from each other by a few roundings, or not at all.
  std::vector<float> x = randomNumbers(kDepth, 8), alike = weight;
  std::mt19937 random(5);
  for (int64_t n = 3; n < kColumns; n += 97)
    for (int64_t k = 0; k < kDepth; ++k)
      alike[n * kDepth + k] = 3 * x[k] * (1 + static_cast<float>(static_cast<int>(random() % 3) - 1) * 0x1p-23f);
  for (int64_t n = 100; n < kColumns; n += 194)
    std::copy_n(alike.begin() + 3 * kDepth, kDepth, alike.begin() + n * kDepth);
  forKernels([&](const Kernel &kernel, const std::string &isa) { Problem(GetParam(), x, alike).expectSame(kernel, isa); });
}

TEST_P(ChooseScreenTest, TakesAllWhereLogitsAreAlike) {
  std::vector<float> flat(kColumns * kDepth, 0.25f);
  forKernels([&](const Kernel &kernel, const std::string &isa) {
    for (int64_t rows : {1, 6})
      Problem(GetParam(), randomNumbers(rows * kDepth, 8), flat).expectSame(kernel, isa);
  });
}

TEST_P(ChooseScreenTest, KnowsWhenItKnowsNothing) {
  std::vector<float> few = randomNumbers(6 * kDepth, 8);
  for (float &value : llvm::MutableArrayRef(few).slice(kDepth, kDepth))
    value = 0;
  few[3 * kDepth + 5] = 3000; // outshines the others
  for (float &value : llvm::MutableArrayRef(few).slice(4 * kDepth, kDepth))
    value *= 1e-20f;
  std::vector<float> odd = weight;
  for (float &value : llvm::MutableArrayRef(odd).slice(10 * kDepth, kDepth))
    value = 0;
  for (float &value : llvm::MutableArrayRef(odd).slice(20 * kDepth, kDepth))
    value *= 1e-25f;
  forKernels([&](const Kernel &kernel, const std::string &isa) {
    Problem(GetParam(), few, odd).expectSame(kernel, isa);
    for (float number : {1e18f, 1e38f, INFINITY, -INFINITY, std::nanf("")}) {
      std::vector<float> x = few;
      x[2 * kDepth + 1] = number;
      Problem(GetParam(), x, odd).expectSame(kernel, isa + " x " + std::to_string(number));
      Problem problem(GetParam(), few, odd);
      problem.bias[30] = number;
      problem.expectSame(kernel, isa + " bias " + std::to_string(number));
    }
  });
}

#ifndef XF_TEST_GPU_KERNELS
TEST_P(ChooseScreenTest, LeavesOutWhatItMay) {
  // A screen that denies the best column: who believes it does not see that column.
  std::vector<float> x = randomNumbers(kDepth, 8), best = weight;
  for (int64_t k = 0; k < kDepth; ++k)
    best[500 * kDepth + k] = 4 * x[k];
  forKernels([&](const Kernel &kernel, const std::string &isa) {
    Problem problem(GetParam(), x, best);
    ASSERT_EQ(problem.run(kernel, 1, 1, false).tokens[0], 500) << isa;
    problem.screen.scales[500] = problem.screen.lengths[500] = problem.screen.errors[500] = 0;
    bool isScreened = isa.ends_with("vnni") || isa.ends_with("avx512_bf16");
    EXPECT_EQ(problem.run(kernel, 1, 1, false).tokens[0] != 500, isScreened) << isa;
    EXPECT_EQ(problem.run(kernel, 1, 1, true).tokens[0], 500) << isa;
  });
}
#endif

INSTANTIATE_TEST_SUITE_P(Factors, ChooseScreenTest, testing::Values(Factor::f32, Factor::bf16),
                         [](const auto &info) { return info.param == Factor::f32 ? "f32" : "bf16"; });

} // namespace
