// Products of 16-bit factors: sizes that no panel, step or tile divides, rows that start anywhere, and a row's bits in any
// company. The emulator adds as the kernels' description says, so that results are known to the bit.
#include "test/Target/CPU/KernelHarness.h"

#include "llvm/ADT/APFloat.h"

using namespace xf::cpu;
using namespace xf::cpu::test;

namespace {

using Ranges = std::vector<Kernel::Range>;

struct Shape {
  int64_t columns, depth;
  std::string type; // of the factors
};

/// y[m, n] = (sum + bias[n]) * scale[m] + residual[m, n], as a result of the type `result`.
std::string contractText(const Shape &shape, const std::string &result) {
  std::string n = std::to_string(shape.columns), k = std::to_string(shape.depth);
  auto rows = [](std::string width, std::string element) { return "tensor<?x" + width + "x" + element + ", #xf.dims<\"B\", \"\">>"; };
  std::string f32 = "tensor<" + n + "x" + k + "xf32>", w = "tensor<" + n + "x" + k + "x" + shape.type + ">", bias = "tensor<" + n + "xf32>";
  std::string x = rows(k, shape.type), one = rows("1", "f32"), residual = rows(n, "f32"), y = rows(n, result);
  std::string narrow = result == "f32" ? "" : "%i = arith.truncf %h : f32 to " + result + "\n";
  return "module attributes {xf.bounds = {B = 512 : i64}} {\nxf.parameter @p : " + f32 +
         " path \"p\"\n"
         "xf.weight @w : " +
         w + " layers 1 layout panels {\n^bb0(%layer: index):\n%p = xf.param @p : " + f32 + "\n%q = xf.quantize %p : " + f32 + " -> " + w +
         "\nxf.yield %q : " + w +
         "\n}\n"
         "xf.entry @run(%x: " +
         x + " {xf.name = \"x\"}, %b: " + bias + " {xf.name = \"b\"}, %s: " + one + " {xf.name = \"s\"}, %r: " + residual +
         " {xf.name = \"r\"}) -> (" + residual +
         " {xf.name = \"y\"}) {\n"
         "%w = xf.param @w : " +
         w +
         "\n"
         "%y = xf.contract %x, %w extras(%b, %s, %r) maps [[1], [0, -1], [0, 1]] : " +
         x + ", " + w + " extras(" + bias + ", " + one + ", " + residual + ") -> " + y +
         " {\n^bb0(%acc: f32, %bb: f32, %ss: f32, %rr: f32):\n"
         "%f = arith.addf %acc, %bb : f32\n%g = arith.mulf %f, %ss : f32\n%h = arith.addf %g, %rr : f32\n" +
         narrow + "xf.yield " + (narrow.empty() ? "%h : f32" : "%i : " + result) + "\n}\nxf.return %r : " + residual + "\n}\n}\n";
}

class HalfFormat {
public:
  explicit HalfFormat(const std::string &type) : semantics(type == "bf16" ? llvm::APFloat::BFloat() : llvm::APFloat::IEEEhalf()) {}
  uint16_t narrow(float value) const {
    llvm::APFloat converted(value);
    bool loses;
    converted.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &loses);
    return static_cast<uint16_t>(converted.bitcastToAPInt().getZExtValue());
  }
  float widen(uint16_t bits) const {
    llvm::APFloat converted(semantics, llvm::APInt(16, bits));
    bool loses;
    converted.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &loses);
    return converted.convertToFloat();
  }

private:
  const llvm::fltSemantics &semantics;
};

template <typename T> Kernel::Range rangeOf(const std::vector<T> &data) { return {data.data(), data.data() + data.size()}; }

constexpr int64_t kMaxRows = 100;

struct Problem {
  explicit Problem(const Shape &shape, int64_t maxRows = kMaxRows)
      : columns(shape.columns), depth(shape.depth), format(shape.type), x(randomValues(maxRows * depth, 1)), weight(randomValues(columns * depth, 2)),
        bias(randomValues(columns, 3)), scale(randomValues(maxRows, 4)), residual(randomValues(maxRows * (columns + 3), 5)) {
    for (float &value : x)
      value = format.widen(format.narrow(value));
    int64_t pairs = (depth + 1) / 2;
    panels.resize((columns + 15) / 16 * pairs * 32);
    for (int64_t n = 0; n < columns; ++n)
      for (int64_t k = 0; k < depth; ++k) {
        float &element = weight[n * depth + k];
        uint16_t bits = format.narrow(element);
        element = format.widen(bits);
        panels[((n / 16 * pairs + k / 2) * 16 + n % 16) * 2 + k % 2] = bits;
      }
  }

  /// Rows `first` … of x, `stride` elements apart, the first one `shift` elements behind an address that is a multiple of 16.
  /// What is between rows is NaN, and around everything there is no memory.
  std::vector<float> run(const Kernel &kernel, int64_t first, int64_t rows, int64_t stride, int64_t shift) {
    std::vector<uint16_t> memory(rows * stride + 16, 0x7fff);
    uint16_t *start = memory.data() + (16 - reinterpret_cast<uintptr_t>(memory.data()) % 16) % 16 / 2 + shift;
    for (int64_t m = 0; m < rows; ++m)
      for (int64_t k = 0; k < depth; ++k)
        start[m * stride + k] = format.narrow(x[(first + m) * depth + k]);
    int64_t yStride = columns + 1;
    std::vector<float> y(rows * yStride, -77.0f);
    Ranges ranges{{start, start + (rows - 1) * stride + depth}, rangeOf(panels), rangeOf(bias), rangeOf(scale), rangeOf(residual), rangeOf(y)};
    kernel({view(start, {rows, depth}, {stride, 1}), view(panels, {columns, depth}), view(bias, {columns}), view(scale.data() + first, {rows, 1}),
            view(residual.data() + first * (columns + 3), {rows, columns}, {columns + 3, 1}), view(y, {rows, columns}, {yStride, 1})},
           1, ranges);
    std::vector<float> result;
    for (int64_t m = 0; m < rows; ++m) {
      result.insert(result.end(), y.begin() + m * yStride, y.begin() + m * yStride + columns);
      EXPECT_EQ(y[m * yStride + columns], -77.0f) << "written behind a row";
    }
    return result;
  }

  /// Chains of fused multiply-adds over 128 ascending k, which are added in ascending order.
  float expected(int64_t m, int64_t n) const {
    float sum = 0;
    for (int64_t first = 0; first < depth; first += 128) {
      float chain = 0;
      for (int64_t k = first; k < std::min(first + 128, depth); ++k)
        chain = std::fmaf(weight[n * depth + k], x[m * depth + k], chain);
      sum += chain;
    }
    return (sum + bias[n]) * scale[m] + residual[m * (columns + 3) + n];
  }

  int64_t columns, depth;
  HalfFormat format;
  std::vector<float> x, weight, bias, scale, residual;
  std::vector<uint16_t> panels;
};

class TensorContractTest : public testing::TestWithParam<std::tuple<std::string, int64_t, int64_t>> {};

TEST_P(TensorContractTest, IsExactAndInvariant) {
  auto [type, columns, depth] = GetParam();
  Shape shape{columns, depth, type};
  KernelHarness harness(contractText(shape, "f32"));
  Kernel kernel = harness.compile(harness.find<mlir::xf::ContractOp>(), Isa::avx2, {{1, 1, 1, 1, 1, 1}});
  Problem problem(shape);
  std::vector<float> wanted;
  for (int64_t i = 0; i < kMaxRows * columns; ++i)
    wanted.push_back(problem.expected(i / columns, i % columns));
  int64_t even = (depth + 7) / 8 * 8;
  for (int64_t rows : {1, 3, 8, 9, 17, 64, 65, 100})
    for (auto [stride, shift] : {std::pair{even, int64_t(0)}, {even + 2, int64_t(2)}, {even + 5, int64_t(1)}}) {
      std::vector<float> y = problem.run(kernel, 0, rows, stride, shift);
      ASSERT_EQ(y, std::vector<float>(wanted.begin(), wanted.begin() + rows * columns)) << rows << " rows, stride " << stride;
    }
  for (int64_t row : {2, 63, 64, 99})
    ASSERT_EQ(problem.run(kernel, row, 1, even, 0), std::vector<float>(wanted.begin() + row * columns, wanted.begin() + (row + 1) * columns))
        << "row " << row << " depends on its neighbours";
}

const auto kDepths = testing::Values(1, 7, 16, 33, 320, 512, 522, 2100);
std::string shapeName(const testing::TestParamInfo<TensorContractTest::ParamType> &info) {
  auto [type, columns, depth] = info.param;
  return type + "_" + std::to_string(columns) + "x" + std::to_string(depth);
}
INSTANTIATE_TEST_SUITE_P(Shapes, TensorContractTest, testing::Combine(testing::Values("bf16", "f16"), testing::Values(1, 16, 40), kDepths),
                         shapeName);
INSTANTIATE_TEST_SUITE_P(LargeShapes, TensorContractTest, testing::Combine(testing::Values("bf16", "f16"), testing::Values(130), kDepths), shapeName);

/// Rows and columns for which the tile of that name is taken.
struct Large {
  std::string tile;
  int64_t rows, columns, depth;
};

class LargeTileTest : public testing::TestWithParam<Large> {};

TEST_P(LargeTileTest, IsExact) {
  auto [tile, rows, columns, depth] = GetParam();
  Shape shape{columns, depth, "bf16"};
  KernelHarness harness(contractText(shape, "f32"));
  Kernel kernel = harness.compile(harness.find<mlir::xf::ContractOp>(), Isa::avx2, {{1, 1, 1, 1, 1, 1}});
  std::vector<xf_abi_view> sizes(6);
  sizes.back().size[0] = rows;
  ASSERT_EQ(kernel.functionFor(sizes), tile);
  Problem problem(shape, rows);
  int64_t even = (depth + 7) / 8 * 8;
  for (auto [stride, shift] : {std::pair{even, int64_t(0)}, {even + 5, int64_t(1)}}) {
    std::vector<float> y = problem.run(kernel, 0, rows, stride, shift);
    for (int64_t i = 0; i < rows * columns; i += 3)
      ASSERT_EQ(y[i], problem.expected(i / columns, i % columns)) << "row " << i / columns << ", column " << i % columns << ", stride " << stride;
  }
}

INSTANTIATE_TEST_SUITE_P(Tiles, LargeTileTest,
                         testing::Values(Large{"k_some", 97, 130, 1280}, Large{"k_many_64x64", 65, 4100, 33}, Large{"k_many_64x64", 100, 3066, 522},
                                         Large{"k_many_128x64", 200, 8200, 20}, Large{"k_many_128x64", 70, 12801, 288},
                                         Large{"k_many_128x128", 130, 12900, 7}, Large{"k_many_128x128", 129, 12801, 160}),
                         [](const auto &info) { return info.param.tile.substr(2) + "_" + std::to_string(info.param.depth); });

TEST(TensorContractTest, EvenTheSignOfZeroIsInvariant) {
  // A product too small for f32 makes a sum of -0, to which the zeros behind the last k are added in every kernel alike.
  Shape shape{16, 16, "bf16"};
  KernelHarness harness(contractText(shape, "f32"));
  Kernel kernel = harness.compile(harness.find<mlir::xf::ContractOp>(), Isa::avx2, {{1, 1, 1, 1, 1, 1}});
  Problem problem(shape);
  std::fill(problem.x.begin(), problem.x.end(), 0x1p-100f);
  std::fill(problem.panels.begin(), problem.panels.end(), problem.format.narrow(-0x1p-100f));
  std::fill(problem.bias.begin(), problem.bias.end(), -0.0f);
  std::fill(problem.scale.begin(), problem.scale.end(), 1.0f);
  std::fill(problem.residual.begin(), problem.residual.end(), -0.0f);
  std::vector<float> one = problem.run(kernel, 0, 1, 16, 0), many = problem.run(kernel, 0, 64, 16, 0);
  for (int64_t n = 0; n < shape.columns; ++n)
    ASSERT_EQ(std::signbit(one[n]), std::signbit(many[n])) << n;
}

TEST(TensorContractTest, NarrowResults) {
  for (std::string type : {"bf16", "f16"}) {
    Shape shape{40, 33, type};
    KernelHarness harness(contractText(shape, type));
    Kernel kernel = harness.compile(harness.find<mlir::xf::ContractOp>(), Isa::avx2, {{1, 1, 1, 1, 1, 1}});
    Problem problem(shape);
    for (int64_t rows : {3, 70}) {
      std::vector<uint16_t> x, y(rows * shape.columns);
      for (float value : problem.x)
        x.push_back(problem.format.narrow(value));
      kernel({view(x, {rows, shape.depth}), view(problem.panels, {shape.columns, shape.depth}), view(problem.bias, {shape.columns}),
              view(problem.scale, {rows, 1}), view(problem.residual, {rows, shape.columns}, {shape.columns + 3, 1}), view(y, {rows, shape.columns})});
      for (int64_t i = 0; i < rows * shape.columns; ++i)
        ASSERT_EQ(y[i], problem.format.narrow(problem.expected(i / shape.columns, i % shape.columns))) << type << " " << i;
    }
  }
}

} // namespace
