// Choosing by products of 16-bit factors: the logits are those of the linear kernel, to the bit, for any number of rows, and what
// nobody may choose is not read.
#include "test/Target/CPU/KernelHarness.h"

#include "llvm/ADT/APFloat.h"

#include <algorithm>

using namespace xf::cpu;
using namespace xf::cpu::test;
using mlir::xf::ChooseOp;

namespace {

constexpr int64_t kMost = 8;

/// Both kernels of y = x Wᵀ + b.
std::string text(int64_t columns, int64_t depth, const std::string &type) {
  std::string n = std::to_string(columns), k = std::to_string(depth), most = std::to_string(kMost);
  std::string names = ", #xf.dims<\"B\", \"\">>", bias = "tensor<" + n + "xf32>", w = "tensor<" + n + "x" + k + "x" + type + ">";
  std::string x = "tensor<?x" + k + "x" + type + names, x3 = "tensor<?x?x" + k + "x" + type + ", #xf.dims<\"B\", \"N\", \"\">>";
  std::string y = "tensor<?x" + n + "xf32" + names;
  std::string f = "tensor<?x" + std::to_string(ChooseOp::countWords(columns)) + "xi32, #xf.dims<\"C\", \"\">>";
  std::string classes = "tensor<?xi32, #xf.dims<\"B\">>", parts = std::to_string(ChooseOp::countParts(columns, kMost));
  std::string region = " {\n^bb0(%acc: f32, %bias: f32):\n%s = arith.addf %acc, %bias : f32\nxf.yield %s : f32\n}\n";
  return "module attributes {xf.bounds = {B = 512 : i64, N = 8 : i64, C = 8 : i64}} {\nxf.entry @run(%x: " + x + " {xf.name = \"x\"}, %z: " + x3 +
         " {xf.name = \"z\"}, %f: " + f + " {xf.name = \"f\"}, %c: " + classes + " {xf.name = \"c\"}, %o: tensor<2xi32> {xf.name = \"o\"}, %w: " + w +
         " {xf.name = \"w\"}, %b: " + bias + " {xf.name = \"b\"}) -> (" + y + " {xf.name = \"y\"}) {\n"
         "%y = xf.contract %x, %w extras(%b) maps [[1]] : " + x + ", " + w + " extras(" + bias + ") -> " + y + region +
         "%v, %t, %m, %p = xf.choose %z, %w axis 1 forbidden %f by %c options %o extras(%b) maps [[2]] : " + x3 + ", " + w + ", " + f + ", " + classes +
         ", tensor<2xi32> extras(" + bias + ") -> tensor<?x" + most + "xf32" + names + ", tensor<?x" + most + "xi32" + names + ", tensor<?x2xf32" +
         names + ", tensor<?x" + parts + "xf32" + names + region + "xf.return %y : " + y + "\n}\n}\n";
}

uint16_t narrow(float value, const std::string &type) {
  llvm::APFloat number(value);
  bool loses;
  number.convert(type == "bf16" ? llvm::APFloat::BFloat() : llvm::APFloat::IEEEhalf(), llvm::APFloat::rmNearestTiesToEven, &loses);
  return static_cast<uint16_t>(number.bitcastToAPInt().getZExtValue());
}

class TensorChooseTest : public testing::TestWithParam<std::tuple<std::string, int64_t>> {};

TEST_P(TensorChooseTest, LogitsAreThoseOfTheProduct) {
  auto [type, depth] = GetParam();
  const int64_t columns = 300, pairs = (depth + 1) / 2, mostRows = 70;
  KernelHarness harness(text(columns, depth, type));
  Kernel contract = harness.compile(harness.find<mlir::xf::ContractOp>(), Isa::avx2, {llvm::SmallVector<int64_t>(4, 1)});
  Kernel choose = harness.compile(harness.find<ChooseOp>(), Isa::avx2, {llvm::SmallVector<int64_t>(10, 1)});
  std::vector<uint16_t> x, panels((columns + 15) / 16 * pairs * 32);
  for (float value : randomNumbers(mostRows * depth, 1))
    x.push_back(narrow(value, type));
  std::vector<float> weight = randomNumbers(columns * depth, 2), bias = randomNumbers(columns, 3);
  for (int64_t n = 0; n < columns; ++n)
    for (int64_t k = 0; k < depth; ++k)
      panels[((n / 16 * pairs + k / 2) * 16 + n % 16) * 2 + k % 2] = narrow(weight[n * depth + k], type);
  // Class 1 may choose from a panel and a half, apart from each other.
  std::vector<uint32_t> forbidden(2 * ChooseOp::countWords(columns));
  for (int64_t n = 0; n < 32 * ChooseOp::countWords(columns); ++n)
    if (!(n / 16 == 3 || (n / 16 == 10 && n % 2)))
      forbidden[ChooseOp::countWords(columns) + n / 32] |= 1u << n % 32;

  for (int64_t rows : {1, 8, 9, 16, 17, 70})
    for (int32_t kind : {0, 1}) {
      std::vector<float> y(rows * columns), values(rows * kMost), norms(rows * 2), parts(rows * ChooseOp::countParts(columns, kMost));
      std::vector<int32_t> tokens(rows * kMost), classes(rows, kind);
      int32_t options[] = {kMost, 1};
      contract({view(x, {rows, depth}), view(panels, {columns, depth}), view(bias, {columns}), view(y, {rows, columns})});
      auto range = [](auto &data) { return Kernel::Range{data.data(), data.data() + data.size()}; };
      std::vector<Kernel::Range> ranges{range(x),    range(forbidden), range(classes), {options, options + 2}, range(bias), range(values),
                                        range(tokens), range(norms),   range(parts)};
      for (int64_t panel = 0; panel < (columns + 15) / 16; ++panel)
        if (kind == 0 || panel == 3 || panel == 10) // there is no memory where the others would be
          ranges.push_back({panels.data() + panel * pairs * 32, panels.data() + (panel + 1) * pairs * 32});
      choose({view(x, {rows, 1, depth}), view(panels, {columns, depth}), view(forbidden, {2, ChooseOp::countWords(columns)}), view(classes, {rows}),
              view(options, {2}), view(bias, {columns}), view(values, {rows, kMost}), view(tokens, {rows, kMost}), view(norms, {rows, 2}),
              view(parts, {rows, ChooseOp::countParts(columns, kMost)})},
             1, ranges);
      for (int64_t row = 0; row < rows; ++row) {
        std::vector<int32_t> order;
        for (int32_t n = 0; n < columns; ++n)
          if (!(forbidden[kind * ChooseOp::countWords(columns) + n / 32] >> n % 32 & 1))
            order.push_back(n);
        const float *logits = y.data() + row * columns;
        std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return logits[a] > logits[b]; });
        for (int64_t i = 0; i < kMost; ++i) {
          ASSERT_EQ(tokens[row * kMost + i], order[i]) << rows << " rows, row " << row << ", class " << kind;
          ASSERT_EQ(values[row * kMost + i], logits[order[i]]) << rows << " rows, row " << row << ", class " << kind;
        }
        ASSERT_EQ(norms[2 * row], logits[order[0]]);
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Types, TensorChooseTest, testing::Combine(testing::Values("bf16", "f16"), testing::Values(7, 33, 96)),
                         [](const auto &info) { return std::get<0>(info.param) + "_" + std::to_string(std::get<1>(info.param)); });

} // namespace
