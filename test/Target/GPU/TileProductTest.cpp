// Products in f32, also with weights of bytes, in each of the tiles that there are for many rows: sizes that no tile, panel or part divides, rows
// that start anywhere, and the bits of one chain of fused multiply-adds whatever the tile.
#include "test/Target/CPU/KernelHarness.h"

#include <cmath>

using namespace xf::cpu;
using namespace xf::cpu::test;

namespace {

/// y = x Wᵀ + b + r.
std::string contractText(int64_t columns, int64_t depth, bool ofBytes) {
  std::string n = std::to_string(columns), k = std::to_string(depth), names = ", #xf.dims<\"B\", \"\">>",
              w = "tensor<" + n + "x" + k + (ofBytes ? "xi8>" : "xf32>");
  std::string x = "tensor<?x" + k + "xf32" + names, y = "tensor<?x" + n + "xf32" + names, bias = "tensor<" + n + "xf32>";
  return "module attributes {xf.bounds = {B = 4096 : i64}} {\nxf.entry @run(%x: " + x + " {xf.name = \"x\"}, %w: " + w +
         " {xf.name = \"w\"}, %b: " + bias + " {xf.name = \"b\"}, %r: " + y + " {xf.name = \"r\"}) -> (" + y +
         " {xf.name = \"y\"}) {\n"
         "%y = xf.contract %x, %w extras(%b, %r) maps [[1], [0, 1]] : " +
         x + ", " + w + " extras(" + bias + ", " + y + ") -> " + y +
         " {\n"
         "^bb0(%acc: f32, %bias: f32, %res: f32):\n%s = arith.addf %acc, %bias : f32\n%t = arith.addf %s, %res : f32\nxf.yield %t : f32\n}\n"
         "xf.return %y : " +
         y + "\n}\n}\n";
}

/// Rows and columns for which the tile of that name is taken.
struct Sizes {
  std::string tile;
  int64_t rows, columns, depth;
};

class TileProductTest : public testing::TestWithParam<std::tuple<bool, Sizes>> {};

TEST_P(TileProductTest, IsOneChain) {
  auto [ofBytes, sizes] = GetParam();
  auto [tile, rows, columns, depth] = sizes;
  KernelHarness harness(contractText(columns, depth, ofBytes));
  Kernel kernel = harness.compile(harness.find<mlir::xf::ContractOp>(), Isa::avx2, {{1, 1, 1, 1, 1}});
  std::vector<xf_abi_view> counted(5);
  counted.back().size[0] = rows;
  ASSERT_EQ(kernel.functionFor(counted), "k_many_" + tile);

  std::vector<float> x = randomValues(rows * depth, 1), weight = randomValues(columns * depth, 2), bias = randomValues(columns, 3);
  std::vector<float> residual = randomValues(rows * columns, 4), panels;
  std::vector<int8_t> bytes((columns + 15) / 16 * ((depth + 3) / 4) * 64);
  if (ofBytes)
    for (int64_t n = 0; n < columns; ++n)
      for (int64_t k = 0; k < depth; ++k) {
        float &element = weight[n * depth + k];
        element = std::nearbyint(element * 127);
        bytes[((n / 16 * ((depth + 3) / 4) + k / 4) * 16 + n % 16) * 4 + k % 4] = static_cast<int8_t>(element);
      }
  else
    panels = packPanels(weight, columns, depth);
  std::vector<float> expected;
  for (int64_t m = 0; m < rows; ++m)
    for (int64_t n = 0; n < columns; ++n) {
      float sum = 0;
      for (int64_t k = 0; k < depth; ++k)
        sum = std::fmaf(x[m * depth + k], weight[n * depth + k], sum);
      expected.push_back(sum + bias[n] + residual[m * columns + n]);
    }

  int64_t even = (depth + 3) / 4 * 4, yStride = columns + 1;
  for (auto [stride, shift] : {std::pair{even, int64_t(0)}, {even + 1, int64_t(0)}, {even, int64_t(1)}}) {
    // What is between rows is NaN, and around everything there is no memory.
    std::vector<float> memory(rows * stride + 8, NAN), y(rows * yStride, -77.0f);
    float *start = memory.data() + (16 - reinterpret_cast<uintptr_t>(memory.data()) % 16) % 16 / 4 + shift;
    for (int64_t m = 0; m < rows; ++m)
      std::copy_n(x.data() + m * depth, depth, start + m * stride);
    auto range = [](const auto &data) { return Kernel::Range{data.data(), data.data() + data.size()}; };
    kernel({view(start, {rows, depth}, {stride, 1}), ofBytes ? view(bytes, {columns, depth}) : view(panels, {columns, depth}), view(bias, {columns}),
            view(residual, {rows, columns}), view(y, {rows, columns}, {yStride, 1})},
           1, {{start, start + (rows - 1) * stride + depth}, ofBytes ? range(bytes) : range(panels), range(bias), range(residual), range(y)});
    for (int64_t m = 0; m < rows; ++m) {
      ASSERT_EQ(y[m * yStride + columns], -77.0f) << "written behind row " << m;
      for (int64_t n = 0; n < columns; ++n)
        ASSERT_EQ(y[m * yStride + n], expected[m * columns + n]) << "row " << m << ", column " << n << ", stride " << stride << ", shift " << shift;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Tiles, TileProductTest,
    testing::Combine(testing::Bool(), testing::Values(Sizes{"32x32", 70, 40, 7}, Sizes{"32x32", 97, 130, 260}, Sizes{"32x64", 121, 2000, 37},
                                                      Sizes{"32x64", 97, 2048, 96}, Sizes{"64x64", 230, 2040, 20}, Sizes{"64x64", 193, 2048, 131},
                                                      Sizes{"64x128", 480, 2000, 36}, Sizes{"64x128", 405, 2048, 67}, Sizes{"64x128", 500, 2048, 8})),
    [](const auto &info) {
      const Sizes &sizes = std::get<1>(info.param);
      return (std::get<0>(info.param) ? "bytes_" : "f32_") + sizes.tile + "_" + std::to_string(sizes.depth);
    });

} // namespace
