// Which columns are chosen, and in which order: equal logits anywhere, zeros of both signs, NaN, and any number of
// candidates. The logits are given, as an operand of the region.
#include "test/Target/CPU/KernelHarness.h"

#include "llvm/ADT/bit.h"

#include <algorithm>

using namespace xf::cpu;
using namespace xf::cpu::test;
using mlir::xf::ChooseOp;

namespace {

const float kInfinity = std::numeric_limits<float>::infinity(), kNaN = std::nanf("");

std::string text(int64_t columns, int64_t maxCandidates, const std::string &factor) {
  std::string n = std::to_string(columns), m = std::to_string(maxCandidates), names = ", #xf.dims<\"B\", \"\">>";
  std::string x = "tensor<?x?x1x" + factor + ", #xf.dims<\"B\", \"N\", \"\">>", w = "tensor<" + n + "x1x" + factor + ">";
  std::string logits = "tensor<?x" + n + "xf32" + names, classes = "tensor<?xi32, #xf.dims<\"B\">>";
  std::string f = "tensor<?x" + std::to_string(ChooseOp::countWords(columns)) + "xi32, #xf.dims<\"C\", \"\">>";
  std::string results = "tensor<?x" + m + "xf32" + names + ", tensor<?x" + m + "xi32" + names + ", tensor<?x2xf32" + names + ", tensor<?x" +
                        std::to_string(ChooseOp::countParts(columns, maxCandidates)) + "xf32" + names;
  return "module attributes {xf.bounds = {B = 512 : i64, N = 8 : i64, C = 512 : i64}} {\n"
         "xf.entry @run(%x: " +
         x + " {xf.name = \"x\"}, %f: " + f + " {xf.name = \"f\"}, %c: " + classes +
         " {xf.name = \"c\"}, "
         "%o: tensor<2xi32> {xf.name = \"o\"}, %w: " +
         w + " {xf.name = \"w\"}, %l: " + logits +
         " {xf.name = \"l\"}) {\n"
         "%v, %t, %m, %p = xf.choose %x, %w axis 1 forbidden %f by %c options %o extras(%l) maps [[0, 2]] : " +
         x + ", " + w + ", " + f + ", " + classes + ", tensor<2xi32> extras(" + logits + ") -> " + results +
         " {\n^bb0(%acc: f32, %logit: f32):\nxf.yield %logit : f32\n}\nxf.return\n}\n}\n";
}

/// Rows of logits, each with forbidden columns of its own.
struct Rows {
  Rows(int64_t rows, int64_t columns)
      : rows(rows), columns(columns), words(ChooseOp::countWords(columns)), logits(rows * columns), forbidden(rows * words) {}

  float &at(int64_t row, int64_t column) { return logits[row * columns + column]; }
  void forbid(int64_t row, int64_t column) { forbidden[row * words + column / 32] |= 1u << column % 32; }
  bool isForbidden(int64_t row, int64_t column) const { return forbidden[row * words + column / 32] >> column % 32 & 1; }

  int64_t rows, columns, words;
  std::vector<float> logits;
  std::vector<uint32_t> forbidden;
};

/// Chooses, and compares with the definition.
class Chooser {
public:
  Chooser(int64_t columns, int64_t maxCandidates, const std::string &factor = "f32")
      : columns(columns), maxCandidates(maxCandidates), harness(text(columns, maxCandidates, factor)) {
    auto op = harness.find<ChooseOp>();
    for (Isa isa : runnableIsas(op))
      kernels.push_back(harness.compile(op, isa, {llvm::SmallVector<int64_t>(10, 1)}));
  }

  /// A search for one candidate needs no sums.
  void check(Rows &given, int32_t wanted) {
    for (const Kernel &kernel : kernels)
      for (int32_t sums : wanted == 1 ? std::vector<int32_t>{0, 1} : std::vector<int32_t>{1})
        check(kernel, given, wanted, sums);
  }

private:
  void check(const Kernel &kernel, Rows &given, int32_t wanted, int32_t sums) {
    int64_t rows = given.rows, parts = ChooseOp::countParts(columns, maxCandidates);
    std::vector<float> x(rows), weight((columns + 15) / 16 * 32), values(rows * maxCandidates, -77), norms(rows * 2, -77),
        exchanged(rows * parts, kNaN);
    std::vector<int32_t> tokens(rows * maxCandidates, -77), classes(rows);
    for (int64_t row = 0; row < rows; ++row)
      classes[row] = static_cast<int32_t>(row);
    int32_t options[] = {wanted, sums};
    kernel.together({view(x, {rows, 1, 1}), view(weight, {columns, 1}), view(given.forbidden, {rows, given.words}), view(classes, {rows}),
                     view(options, {2}), view(given.logits, {rows, columns}), view(values, {rows, maxCandidates}),
                     view(tokens, {rows, maxCandidates}), view(norms, {rows, 2}), view(exchanged, {rows, parts})},
                    2);
    for (int64_t row = 0; row < rows; ++row) {
      std::string where = std::to_string(rows) + " rows, " + std::to_string(wanted) + " of " + std::to_string(maxCandidates) + " wanted, row " +
                          std::to_string(row);
      std::vector<int32_t> order;
      bool isNonFinite = false;
      for (int32_t n = 0; n < columns; ++n) {
        float logit = given.isForbidden(row, n) ? -kInfinity : given.at(row, n);
        isNonFinite |= std::isnan(logit) || logit == kInfinity;
        if (logit > -kInfinity)
          order.push_back(n);
      }
      std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return given.at(row, a) > given.at(row, b); });
      for (int64_t i = 0; i < maxCandidates; ++i) {
        bool exists = i < wanted && i < static_cast<int64_t>(order.size());
        ASSERT_EQ(tokens[row * maxCandidates + i], exists ? order[i] : -1) << where << ", place " << i;
        float logit = exists ? given.at(row, order[i]) : -kInfinity;
        ASSERT_EQ(llvm::bit_cast<uint32_t>(values[row * maxCandidates + i]), llvm::bit_cast<uint32_t>(logit)) << where << ", place " << i;
      }
      ASSERT_EQ(std::isnan(norms[2 * row]), isNonFinite) << where;
      if (isNonFinite)
        continue;
      float largest = order.empty() ? -kInfinity : given.at(row, order[0]);
      ASSERT_EQ(norms[2 * row], largest) << where;
      double sum = 0;
      for (int32_t n : order)
        sum += std::exp(static_cast<double>(given.at(row, n)) - largest);
      if (sums)
        ASSERT_NEAR(norms[2 * row + 1], sum, 1e-5 * sum) << where;
    }
  }

  int64_t columns, maxCandidates;
  KernelHarness harness;
  std::vector<Kernel> kernels;
};

/// Each logit one of `values`, by chance.
Rows mixed(int64_t rows, int64_t columns, const std::vector<float> &values, uint32_t seed) {
  Rows given(rows, columns);
  std::mt19937 generator(seed);
  for (float &logit : given.logits)
    logit = values[generator() % values.size()];
  return given;
}

// The few rows of one tile, of some and of many; candidates beyond what a warp has lanes and a block of columns has columns.
constexpr int64_t kRows[] = {1, 6, 13, 70};

TEST(ChooseOrder, OfEqualLogitsTheFirst) {
  for (auto [columns, maxCandidates] : {std::pair<int64_t, int64_t>{300, 1}, {300, 8}, {129, 33}, {700, 150}}) {
    Chooser chooser(columns, maxCandidates);
    for (int64_t rows : kRows) {
      Rows equal = mixed(rows, columns, {0.5f}, 1), few = mixed(rows, columns, {-1.0f, 0.25f, 2.0f}, 2),
           many = mixed(rows, columns, randomValues(200, 3), 4);
      for (int32_t wanted : std::vector<int32_t>{1, static_cast<int32_t>((maxCandidates + 1) / 2), static_cast<int32_t>(maxCandidates)})
        for (Rows *given : {&equal, &few, &many})
          chooser.check(*given, wanted);
    }
  }
}

TEST(ChooseOrder, ZerosAreEqual) {
  Chooser chooser(300, 8);
  for (int64_t rows : kRows) {
    Rows zeros = mixed(rows, 300, {0.0f, -0.0f}, 1), among = mixed(rows, 300, {0.0f, -0.0f, -1.0f, 1e-45f, -1e-45f}, 2);
    Rows negative = mixed(rows, 300, {-0.0f, -2.0f}, 3);
    for (int32_t wanted : {1, 3, 8})
      for (Rows *given : {&zeros, &among, &negative})
        chooser.check(*given, wanted);
  }
}

TEST(ChooseOrder, NumbersThatAreNone) {
  Chooser chooser(300, 8);
  for (int64_t rows : kRows) {
    Rows some = mixed(rows, 300, randomValues(1000, 1), 2), nonFinite = mixed(rows, 300, {kNaN, -kNaN, -kInfinity, kInfinity, 1.0f}, 3);
    Rows none = mixed(rows, 300, {kNaN, -kNaN, -kInfinity}, 4), low = mixed(rows, 300, {-kInfinity}, 5);
    for (int64_t row = 0; row < rows; ++row)
      if (row % 5) {
        some.at(row, row) = row % 5 == 1 ? -kNaN : row % 5 == 2 ? kNaN : row % 5 == 3 ? kInfinity : -kInfinity;
        low.at(row, 200 + row) = -std::numeric_limits<float>::max();
      }
    for (int32_t wanted : {1, 8})
      for (Rows *given : {&some, &nonFinite, &none, &low})
        chooser.check(*given, wanted);
  }
}

TEST(ChooseOrder, FewAllowedColumns) {
  for (auto [columns, maxCandidates] : {std::pair<int64_t, int64_t>{300, 8}, {700, 40}}) {
    Chooser chooser(columns, maxCandidates);
    for (int64_t rows : kRows) {
      Rows given = mixed(rows, columns, randomValues(100, 1), 2);
      std::mt19937 generator(3);
      for (int64_t row = 0; row < rows; ++row) {
        // None, one, two, … columns, anywhere.
        std::vector<bool> isAllowed(columns);
        for (int64_t i = 0; i < row % 12; ++i)
          isAllowed[generator() % columns] = true;
        for (int64_t n = 0; n < columns; ++n)
          if (!isAllowed[n])
            given.forbid(row, n);
      }
      for (int32_t wanted : std::vector<int32_t>{1, 5, static_cast<int32_t>(maxCandidates)})
        chooser.check(given, wanted);
    }
  }
}

TEST(ChooseOrder, OfSixteenBits) {
  Chooser chooser(300, 8, "bf16");
  for (int64_t rows : kRows) {
    Rows given = mixed(rows, 300, randomValues(150, 1), 2), nonFinite = mixed(rows, 300, {0.0f, -0.0f, -1.0f, kNaN, kInfinity, -kInfinity}, 3);
    for (int32_t wanted : {1, 5, 8})
      for (Rows *rowsOf : {&given, &nonFinite})
        chooser.check(*rowsOf, wanted);
  }
}

// More lists than the second kernel has threads.
TEST(ChooseOrder, ManyBlocksOfColumns) {
  constexpr int64_t kColumns = 35000;
  Chooser chooser(kColumns, 8);
  Rows given = mixed(2, kColumns, randomValues(20000, 1), 2), equal = mixed(2, kColumns, {1.0f}, 3), late = mixed(2, kColumns, {-1.0f, -2.0f}, 4);
  for (int64_t i = 0; i < 20; ++i)
    late.at(0, kColumns - 1 - i) = static_cast<float>(i % 7), late.at(1, 257 * 128 + i) = static_cast<float>(i % 5);
  for (int32_t wanted : {1, 8})
    for (Rows *rows : {&given, &equal, &late})
      chooser.check(*rows, wanted);
}

} // namespace
