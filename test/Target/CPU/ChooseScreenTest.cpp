// The vocabulary reduction with a screen: what it leaves out changes no bit of the result.
#include "test/Target/CPU/FactorData.h"

#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <random>

using namespace xf::cpu;
using namespace xf::cpu::test;
using mlir::xf::ChooseOp;

namespace {

constexpr int64_t kMaxCandidates = 8, kColumns = 2067, kDepth = 64, kWords = (kColumns + 127) / 128 * 4;

/// The copies of the weight that a choice has.
enum class Copies { none, all };

int64_t partsWidth(Factor factor, Copies copies) {
  int64_t parts = ChooseOp::countParts(kColumns, kMaxCandidates);
  return copies == Copies::none ? parts : parts + ChooseOp::countScreened(kColumns, kDepth, factor == Factor::f32);
}

constexpr double kCap = 30;

/// Logits x Wᵀ / 2 + b; or, of these, kCap tanh(logit / kCap).
std::string text(Factor factor, Copies copies, bool isCapped) {
  std::string type = typesOf(factor).x, n = std::to_string(kColumns), k = std::to_string(kDepth), maxCandidates = std::to_string(kMaxCandidates);
  auto column = [&](std::string element) { return "tensor<" + n + "x" + element + ">"; };
  auto rows = [](std::string width, std::string element) { return "tensor<?x" + width + element + ", #xf.dims<\"B\", \"\">>"; };
  std::string x = "tensor<?x?x" + k + "x" + type + ", #xf.dims<\"B\", \"N\", \"\">>", w = column(k + "x" + type);
  std::string f = "tensor<?x" + std::to_string(kWords) + "xi32, #xf.dims<\"C\", \"\">>", c = "tensor<?xi32, #xf.dims<\"B\">>";
  std::string arguments, operands, types;
  auto add = [&](std::string name, std::string type) {
    arguments += (arguments.empty() ? "%" : ", %") + name + ": " + type + " {xf.name = \"" + name + "\"}";
  };
  for (auto [name, type] :
       {std::pair<std::string, std::string>("x", x), {"w", w}, {"f", f}, {"c", c}, {"o", std::string("tensor<2xi32>")}, {"b", column("f32")}})
    add(name, type);
  auto addCopy = [&](std::string keyword, std::string prefix, std::vector<std::string> tensors) {
    tensors.push_back("tensor<" + k + "xf32>");
    std::string names, all;
    for (const std::string &tensor : tensors) {
      std::string name = prefix + std::to_string(&tensor - tensors.data());
      add(name, tensor);
      names += (names.empty() ? "%" : ", %") + name;
      all += (all.empty() ? "" : ", ") + tensor;
    }
    operands += " " + keyword + "(" + names + ")";
    types += " " + keyword + "(" + all + ")";
  };
  if (copies == Copies::all) {
    addCopy("screen", "s", {column(k + "xi8"), column("f32"), column("i32"), column("f32"), column("f32")});
    if (factor == Factor::f32)
      addCopy("words", "p", {column(k + "xi16"), column("f32"), column("f32"), column("f32")});
  }
  std::string parts = std::to_string(partsWidth(factor, copies));
  return "module attributes {xf.bounds = {B = 64 : i64, N = 1 : i64, C = 8 : i64}} {\nxf.entry @run(" + arguments +
         ") {\n"
         "%v, %i, %m, %q = xf.choose %x, %w axis 1 forbidden %f by %c options %o extras(%b) maps [[2]]" +
         operands + " : " + x + ", " + w + ", " + f + ", " + c + ", tensor<2xi32> extras(" + column("f32") + ")" + types + " -> " +
         rows(maxCandidates + "x", "f32") + ", " + rows(maxCandidates + "x", "i32") + ", " + rows("2x", "f32") + ", " + rows(parts + "x", "f32") +
         " {\n^bb0(%acc: f32, %bias: f32):\n%half = arith.constant 0.5 : f32\n%y = arith.mulf %acc, %half : f32\n"
         "%s = arith.addf %y, %bias : f32\n" +
         (isCapped ? "%cap = arith.constant " + std::to_string(kCap) +
                         " : f32\n%d = arith.divf %s, %cap : f32\n%t = math.tanh %d : f32\n%l = arith.mulf %t, %cap : f32\nxf.yield %l : f32\n"
                   : "xf.yield %s : f32\n") +
         "}\nxf.return\n}\n}\n";
}

/// What xf.quantize makes of a weight: T integers, and bounds of what they lack.
template <typename T>
struct Quantized {
  explicit Quantized(const std::vector<float> &weight) : scales(kColumns), lengths(kColumns), errors(kColumns), mean(kDepth), sums(kColumns) {
    std::vector<T> plain(weight.size());
    for (int64_t n = 0; n < kColumns; ++n) {
      const float *row = weight.data() + n * kDepth;
      double largest = 0, length = 0, error = 0;
      for (int64_t k = 0; k < kDepth; ++k) {
        largest = std::max<double>(largest, std::fabs(row[k]));
        length += double(row[k]) * row[k];
      }
      length = std::sqrt(length);
      scales[n] = sizeof(T) == 1 ? largest / 127 : std::max(largest / 32767, length / 46000);
      for (int64_t k = 0; k < kDepth; ++k) {
        T &element = plain[n * kDepth + k];
        element = static_cast<T>(scales[n] > 0 ? std::nearbyint(row[k] / scales[n]) : 0);
        sums[n] += element;
        error += std::pow(row[k] - double(scales[n]) * element, 2);
        mean[k] += row[k] / kColumns;
      }
      lengths[n] = std::nextafter(static_cast<float>(length), INFINITY);
      errors[n] = std::nextafter(static_cast<float>(std::sqrt(error)), INFINITY);
    }
    integers = packGroups(plain, kColumns, kDepth, 4 / sizeof(T));
  }
  std::vector<T> integers;
  std::vector<float> scales, lengths, errors, mean;
  std::vector<int32_t> sums;
};

struct Choice {
  std::vector<float> values, norms;
  std::vector<int32_t> tokens;
};

struct Kernels {
  Kernel few, all; // with copies of the weight and without
  std::string isa;
};

struct Problem {
  Problem(Factor factor, const std::vector<float> &x, const std::vector<float> &weight)
      : rows(x.size() / kDepth), factor(factor), factors(factor, x, weight, kColumns, kDepth), bytes(factors.weight), int16(factors.weight),
        bias(kColumns), forbidden(3 * kWords), classes(rows) {
    // Class 0 allows everything, 1 few columns, 2 nothing.
    for (int64_t n = 0; n < 32 * kWords; ++n)
      for (int64_t c : {1, 2})
        if (c == 2 || n / 16 % 3 || n % 5 == 1)
          forbidden[c * kWords + n / 32] |= 1u << n % 32;
  }

  Choice run(const Kernel &kernel, Copies copies, int threads, int32_t wanted, bool sums) {
    return run(kernel, copies, threads, wanted, sums, 0, rows);
  }
  Choice run(const Kernel &kernel, Copies copies, int threads, int32_t wanted, bool sums, int64_t first, int64_t count) {
    Choice result{std::vector<float>(count * kMaxCandidates, -77), std::vector<float>(count * 2, -77),
                  std::vector<int32_t>(count * kMaxCandidates, -77)};
    int64_t width = partsWidth(factor, copies);
    std::vector<float> parts(count * width, std::nanf(""));
    int32_t options[] = {wanted, sums};
    std::vector<int32_t> kinds(classes.begin() + first, classes.begin() + first + count);
    std::vector<xf_abi_view> views{view(factors.xAt(first * kDepth), {count, 1, kDepth}),
                                   view(factors.panels(), {kColumns, kDepth}),
                                   view(forbidden, {3, kWords}),
                                   view(kinds, {count}),
                                   view(options, {2}),
                                   view(bias, {kColumns})};
    auto append = [&](std::initializer_list<xf_abi_view> more) { views.insert(views.end(), more); };
    if (copies == Copies::all) {
      append({view(bytes.integers, {kColumns, kDepth}), view(bytes.scales, {kColumns}), view(bytes.sums, {kColumns}), view(bytes.lengths, {kColumns}),
              view(bytes.errors, {kColumns}), view(bytes.mean, {kDepth})});
      if (factor == Factor::f32)
        append({view(int16.integers, {kColumns, kDepth}), view(int16.scales, {kColumns}), view(int16.lengths, {kColumns}),
                view(int16.errors, {kColumns}), view(int16.mean, {kDepth})});
    }
    append({view(result.values, {count, kMaxCandidates}), view(result.tokens, {count, kMaxCandidates}), view(result.norms, {count, 2}),
            view(parts, {count, width})});
    kernel.together(views, threads);
    return result;
  }

  static bool isSame(float x, float y) { return x == y || (std::isnan(x) && std::isnan(y)); }

  /// The same best logits with and without copies of the weight, whether anybody requests sums or not, and almost the same sums.
  void expectSame(const Kernels &kernels, const std::string &where) {
    double deviation = factor == Factor::f32 ? ChooseOp::kLostOfSums : ChooseOp::kLostOfSumsBF16;
    for (int32_t wanted : {1, 3, 8})
      for (int threads : {1, 2, 5}) {
        Choice all = run(kernels.all, Copies::none, threads, wanted, true);
        for (bool sums : {false, true}) {
          Choice few = run(kernels.few, Copies::all, threads, wanted, sums);
          std::string what = where + " wanted " + std::to_string(wanted) + " threads " + std::to_string(threads) + (sums ? " sums" : "");
          ASSERT_EQ(few.tokens, all.tokens) << what;
          ASSERT_EQ(std::memcmp(few.values.data(), all.values.data(), all.values.size() * sizeof(float)), 0) << what;
          for (int64_t row = 0; row < rows; ++row) {
            ASSERT_TRUE(isSame(few.norms[2 * row], all.norms[2 * row])) << what << " row " << row;
            float sum = few.norms[2 * row + 1], exact = all.norms[2 * row + 1];
            // Logits of tens have errors, as f32 has them, that change exponentials.
            double tolerance = 4 * deviation * std::max(1.0f, std::fabs(all.norms[2 * row]) / 10) * exact;
            if (sums)
              ASSERT_TRUE(isSame(sum, exact) || std::fabs(sum - exact) <= tolerance) << what << " row " << row << ": " << sum << ", " << exact;
          }
        }
      }
  }

  int64_t rows;
  Factor factor;
  Factors factors;
  Quantized<int8_t> bytes;
  Quantized<int16_t> int16;
  std::vector<float> bias;
  std::vector<uint32_t> forbidden;
  std::vector<int32_t> classes;
};

/// Of all instruction sets here; compiled once.
const std::vector<Kernels> &kernelsOf(Factor factor, bool isCapped) {
  static std::map<std::pair<Factor, bool>, std::vector<Kernels>> made;
  std::vector<Kernels> &kernels = made[{factor, isCapped}];
  if (!kernels.empty())
    return kernels;
  KernelHarness few(text(factor, Copies::all, isCapped)), all(text(factor, Copies::none, isCapped));
  auto compile = [](KernelHarness &harness, Isa isa) {
    auto op = harness.find<ChooseOp>();
    return harness.compile(op, isa, {llvm::SmallVector<int64_t>(op->getNumOperands() + op->getNumResults(), 1)});
  };
  for (Isa isa : runnableIsas(few.find<ChooseOp>()))
    kernels.push_back({compile(few, isa), compile(all, isa), isaName(isa).str()});
  return kernels;
}

class ChooseScreenTest : public testing::TestWithParam<Factor> {
protected:
  void forKernels(llvm::function_ref<void(const Kernels &, const std::string &)> body, bool areCapped = false) {
    for (const Kernels &kernels : kernelsOf(GetParam(), areCapped))
      body(kernels, kernels.isa);
  }
  std::vector<float> weight = randomValues(kColumns * kDepth, 7);
};

TEST_P(ChooseScreenTest, ChangesNothing) {
  forKernels([&](const Kernels &kernel, const std::string &isa) {
    for (int64_t rows : {1, 5, 13, 40}) {
      Problem problem(GetParam(), randomValues(rows * kDepth, 8), weight);
      problem.bias = randomValues(kColumns, 9);
      problem.expectSame(kernel, isa);
      for (int64_t row = 0; row < rows; ++row)
        problem.classes[row] = row % 3;
      problem.expectSame(kernel, isa + " with forbidden columns");
    }
  });
}

TEST_P(ChooseScreenTest, KeepsTheOrderOfLogitsThatAreAlmostEqual) {
  // Columns that point where the row does, and that differ from each other by a few roundings, or not at all.
  std::vector<float> x = randomValues(kDepth, 8), alike = weight;
  std::mt19937 random(5);
  for (int64_t n = 3; n < kColumns; n += 97)
    for (int64_t k = 0; k < kDepth; ++k)
      alike[n * kDepth + k] = 3 * x[k] * (1 + static_cast<float>(static_cast<int>(random() % 3) - 1) * 0x1p-23f);
  for (int64_t n = 100; n < kColumns; n += 194)
    std::copy_n(alike.begin() + 3 * kDepth, kDepth, alike.begin() + n * kDepth);
  forKernels([&](const Kernels &kernel, const std::string &isa) { Problem(GetParam(), x, alike).expectSame(kernel, isa); });
}

TEST_P(ChooseScreenTest, ChangesNothingBehindACap) {
  // Near 0 a cap leaves logits as they are, beyond it many are equal, and in between its rounding may turn their order round.
  std::vector<float> alike = weight;
  std::vector<float> x = randomValues(7 * kDepth, 8);
  std::mt19937 random(5);
  for (int64_t n = 3; n < kColumns; n += 7) {
    float length = 1 + static_cast<float>(random() % 4096) * 0x1p-16f;
    for (int64_t k = 0; k < kDepth; ++k)
      alike[n * kDepth + k] = x[k] * length;
  }
  for (int64_t row = 0; row < 7; ++row)
    for (int64_t k = 0; k < kDepth; ++k)
      x[row * kDepth + k] = x[k] * std::array{0.001f, 1.0f, 8.0f, 12.0f, 16.0f, 19.0f, 100.0f}[row];
  forKernels(
      [&](const Kernels &kernel, const std::string &isa) {
        Problem problem(GetParam(), x, alike);
        problem.expectSame(kernel, isa);
        problem.bias = randomValues(kColumns, 9);
        for (int64_t row = 0; row < 7; ++row)
          problem.classes[row] = row % 3;
        problem.expectSame(kernel, isa + " with forbidden columns");
        for (float value : {1e38f, INFINITY, -INFINITY, std::nanf("")}) {
          std::vector<float> rows = x;
          rows[2 * kDepth + 1] = value;
          Problem(GetParam(), rows, alike).expectSame(kernel, isa + " x " + std::to_string(value));
        }
      },
      /*areCapped=*/true);
}

TEST_P(ChooseScreenTest, TakesAllWhereLogitsAreAlike) {
  std::vector<float> flat(kColumns * kDepth, 0.25f);
  forKernels([&](const Kernels &kernel, const std::string &isa) {
    for (int64_t rows : {1, 6})
      Problem(GetParam(), randomValues(rows * kDepth, 8), flat).expectSame(kernel, isa);
  });
}

TEST_P(ChooseScreenTest, KnowsWhenItKnowsNothing) {
  std::vector<float> few = randomValues(6 * kDepth, 8);
  for (float &value : llvm::MutableArrayRef(few).slice(kDepth, kDepth))
    value = 0;
  few[3 * kDepth + 5] = 3000; // outshines the others
  for (float &value : llvm::MutableArrayRef(few).slice(4 * kDepth, kDepth))
    value *= 1e-20f;
  std::vector<float> tiny = weight;
  for (float &value : llvm::MutableArrayRef(tiny).slice(10 * kDepth, kDepth))
    value = 0;
  for (float &value : llvm::MutableArrayRef(tiny).slice(20 * kDepth, kDepth))
    value *= 1e-25f;
  forKernels([&](const Kernels &kernel, const std::string &isa) {
    Problem(GetParam(), few, tiny).expectSame(kernel, isa);
    for (float value : {1e18f, 1e38f, INFINITY, -INFINITY, std::nanf("")}) {
      std::vector<float> x = few;
      x[2 * kDepth + 1] = value;
      Problem(GetParam(), x, tiny).expectSame(kernel, isa + " x " + std::to_string(value));
      Problem problem(GetParam(), few, tiny);
      problem.bias[30] = value;
      problem.expectSame(kernel, isa + " bias " + std::to_string(value));
    }
  });
}

TEST_P(ChooseScreenTest, SumsAreARowsOwn) {
  // Peaked rows are settled, flat ones are not. Neither depends on the others, on threads, or, in f32, on the instruction set.
  std::vector<float> x = randomValues(9 * kDepth, 8), flat = weight;
  for (int64_t row = 0; row < 9; ++row)
    for (int64_t k = 0; k < kDepth; ++k)
      x[row * kDepth + k] *= row % 3 == 0 ? 0.0001f : row % 3 == 1 ? 1 : 5;
  Problem problem(GetParam(), x, flat);
  std::vector<float> first;
  forKernels([&](const Kernels &kernels, const std::string &isa) {
    Choice together = problem.run(kernels.few, Copies::all, 1, 8, true);
    for (int threads : {1, 2, 3})
      for (int64_t row = 0; row < 9; ++row) {
        Choice alone = problem.run(kernels.few, Copies::all, threads, 8, true, row, 1);
        ASSERT_EQ(std::memcmp(alone.norms.data(), together.norms.data() + 2 * row, 8), 0) << isa << " row " << row;
      }
    bool isFused = isa != "baseline";
    if (GetParam() == Factor::f32 && isFused) {
      if (first.empty())
        first = together.norms;
      EXPECT_EQ(together.norms, first) << isa;
    }
  });
}

#ifndef XF_TEST_GPU_KERNELS
/// Whether products of bytes take less time than others, which are then estimated by them.
bool multipliesBytesFast(const std::string &isa) { return isa != "baseline" && isa != "avx512"; }

TEST_P(ChooseScreenTest, LeavesOutWhatItMay) {
  // A copy that denies the best column: who believes it does not see that column.
  std::vector<float> x = randomValues(kDepth, 8), best = weight;
  for (int64_t k = 0; k < kDepth; ++k)
    best[500 * kDepth + k] = 4 * x[k];
  forKernels([&](const Kernels &kernels, const std::string &isa) {
    Problem problem(GetParam(), x, best);
    auto chosen = [&](bool sums) { return problem.run(kernels.few, Copies::all, 1, 1, sums).tokens[0]; };
    bool hasBytes = multipliesBytesFast(isa), isF32 = GetParam() == Factor::f32;
    auto deny = [](auto &copy) { // with its whole panel
      for (auto *values : {&copy.scales, &copy.lengths, &copy.errors})
        std::fill_n(values->begin() + 496, 16, 0.0f);
    };
    ASSERT_EQ(chosen(false), 500) << isa;
    ASSERT_EQ(chosen(true), 500) << isa;
    deny(problem.bytes);
    EXPECT_EQ(chosen(false) != 500, hasBytes) << isa;
    EXPECT_EQ(chosen(true) != 500, hasBytes && !isF32) << isa;
    deny(problem.int16);
    EXPECT_EQ(chosen(true) != 500, hasBytes || isF32) << isa;
  });
}

TEST_P(ChooseScreenTest, EstimatesRareColumnsOnly) {
  // Estimates that are twice as far from 0: where a column is rare its share of the sum is another then.
  std::vector<float> x = randomValues(kDepth, 8), best = weight;
  for (int64_t k = 0; k < kDepth; ++k) {
    best[500 * kDepth + k] = x[k];
    best[600 * kDepth + k] = x[k] * 0.1f; // rare
  }
  forKernels([&](const Kernels &kernels, const std::string &isa) {
    Problem problem(GetParam(), x, best);
    auto sum = [&] { return problem.run(kernels.few, Copies::all, 1, 1, true).norms[1]; };
    float before = sum();
    bool isEstimated = GetParam() == Factor::f32 || multipliesBytesFast(isa);
    auto scale = [&](int64_t column, float factor) { problem.bytes.scales[column] *= factor, problem.int16.scales[column] *= factor; };
    scale(500, 1.05f);
    EXPECT_EQ(sum(), before) << isa;
    scale(600, 2);
    EXPECT_EQ(sum() != before, isEstimated) << isa;
  });
}
#endif

INSTANTIATE_TEST_SUITE_P(Factors, ChooseScreenTest, testing::Values(Factor::f32, Factor::bf16),
                         [](const auto &info) { return info.param == Factor::f32 ? "f32" : "bf16"; });

} // namespace
