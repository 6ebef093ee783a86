// Products of bytes and of bf16: sizes that no panel, group or tile divides, on every instruction set.
#include "test/Target/CPU/KernelHarness.h"

#include "llvm/ADT/bit.h"

using namespace xf::cpu;
using namespace xf::cpu::test;

namespace {

/// A module with one product, whose operands are the entry's arguments and a quantised weight.
std::string contractText(int64_t columns, int64_t depth, bool isBytes) {
  std::string n = std::to_string(columns), k = std::to_string(depth), type = isBytes ? "i8" : "bf16", sum = isBytes ? "i32" : "f32";
  auto rows = [](std::string width, std::string element) { return "tensor<?x" + width + "x" + element + ", #xf.dims<\"B\", \"\">>"; };
  std::string f32 = "tensor<" + n + "x" + k + "xf32>", w = "tensor<" + n + "x" + k + "x" + type + ">";
  std::string scale = "tensor<" + n + "xf32>", sums = "tensor<" + n + "xi32>", one = rows("1", "f32"), y = rows(n, "f32");
  std::string text = "module attributes {xf.bounds = {B = 512 : i64}} {\nxf.parameter @p : " + f32 + " path \"p\"\n"
                     "xf.weight @w : " + w + " layers 1 layout panels {\n^bb0(%layer: index):\n%p = xf.param @p : " + f32 + "\n" +
                     (isBytes ? "%q, %s, %t" : "%q") + " = xf.quantize %p : " + f32 + " -> " + w +
                     (isBytes ? ", " + scale + ", " + sums : "") + "\nxf.yield %q : " + w + "\n}\n"
                     "xf.entry @run(%x: " + rows(k, type) + " {xf.name = \"x\"}, %s: " + one + " {xf.name = \"s\"}, %t: " + scale +
                     " {xf.name = \"t\"}, %u: " + sums + " {xf.name = \"u\"}) -> (" + y + " {xf.name = \"y\"}) {\n"
                     "%w = xf.param @w : " + w + "\n"
                     "%y = xf.contract %x, %w extras(%s, %t, %u) maps [[0, -1], [1], [1]] : " + rows(k, type) + ", " + w + " extras(" +
                     one + ", " + scale + ", " + sums + ") -> " + y + " {\n^bb0(%acc: " + sum + ", %a: f32, %b: f32, %c: i32):\n";
  if (isBytes)
    text += "%z = arith.constant 128 : i32\n%d = arith.muli %c, %z : i32\n%e = arith.subi %acc, %d : i32\n"
            "%f = arith.sitofp %e : i32 to f32\n%g = arith.mulf %a, %b : f32\n%h = arith.mulf %f, %g : f32\nxf.yield %h : f32\n";
  else
    text += "%h = arith.mulf %acc, %a : f32\nxf.yield %h : f32\n";
  return text + "}\nxf.return %y : " + y + "\n}\n}\n";
}

/// [ceil(N/16)][ceil(K/g)][16][g]
template <typename T>
std::vector<T> packGroups(const std::vector<T> &weight, int64_t columns, int64_t depth, int64_t group) {
  int64_t groups = (depth + group - 1) / group;
  std::vector<T> packed((columns + 15) / 16 * groups * group * 16);
  for (int64_t n = 0; n < columns; ++n)
    for (int64_t k = 0; k < depth; ++k)
      packed[((n / 16 * groups + k / group) * 16 + n % 16) * group + k % group] = weight[n * depth + k];
  return packed;
}

uint16_t toBF16(float value) {
  uint32_t bits = llvm::bit_cast<uint32_t>(value);
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
float toFloat(uint16_t bits) { return llvm::bit_cast<float>(uint32_t(bits) << 16); }

struct Problem {
  Problem(int64_t rows, int64_t columns, int64_t depth)
      : rows(rows), columns(columns), depth(depth), x(randomNumbers(rows * (depth + 5), 1)), weight(randomNumbers(columns * depth, 2)),
        scales(randomNumbers(rows, 3)), columnScales(randomNumbers(columns, 4)), sums(columns) {
    for (float value : x) {
      bytes.push_back(static_cast<uint8_t>(std::nearbyint(value * 127) + 128));
      shorts.push_back(toBF16(value));
    }
    std::vector<int8_t> weightBytes;
    std::vector<uint16_t> weightShorts;
    for (size_t i = 0; i < weight.size(); ++i) {
      weightBytes.push_back(static_cast<int8_t>(std::nearbyint(weight[i] * 127)));
      weightShorts.push_back(toBF16(weight[i]));
      sums[i / depth] += weightBytes.back();
      weight[i] = toFloat(weightShorts.back());
    }
    rawBytes = weightBytes;
    packedBytes = packGroups(weightBytes, columns, depth, 4);
    packedShorts = packGroups(weightShorts, columns, depth, 2);
    // The largest products that there can be: sums of pairs must not saturate.
    std::fill_n(bytes.begin(), depth, 255);
    std::fill_n(rawBytes.begin(), depth, -127);
    sums[0] = -127 * depth;
    packedBytes = packGroups(rawBytes, columns, depth, 4);
  }

  std::vector<float> run(const Kernel &kernel, bool isBytes, int threads, int64_t firstRow = 0) {
    // Only the rows' elements may be read: what stands between and behind them would be noticed.
    int64_t stride = depth + 5, count = rows - firstRow;
    std::vector<float> y(rows * columns + 16, -77.0f);
    xf_abi_view input = isBytes ? view(bytes.data() + firstRow * stride, {count, depth}, {stride, 1})
                                : view(shorts.data() + firstRow * stride, {count, depth}, {stride, 1});
    xf_abi_view packed = isBytes ? view(packedBytes, {columns, depth}) : view(packedShorts, {columns, depth});
    kernel({input, packed, view(scales.data() + firstRow, {count, 1}), view(columnScales, {columns}), view(sums, {columns}),
            view(y.data() + firstRow * columns, {count, columns})},
           threads);
    for (size_t i = rows * columns; i < y.size(); ++i)
      EXPECT_EQ(y[i], -77.0f) << "written behind the result";
    y.resize(rows * columns);
    return y;
  }

  /// Bytes: what every instruction set must give, to the bit.
  std::vector<float> exact() const {
    std::vector<float> y(rows * columns);
    for (int64_t m = 0; m < rows; ++m)
      for (int64_t n = 0; n < columns; ++n) {
        int32_t sum = 0;
        for (int64_t k = 0; k < depth; ++k)
          sum += (bytes[m * (depth + 5) + k] - 128) * rawBytes[n * depth + k];
        y[m * columns + n] = static_cast<float>(sum) * (scales[m] * columnScales[n]);
      }
    return y;
  }
  double expected(int64_t m, int64_t n) const {
    double sum = 0;
    for (int64_t k = 0; k < depth; ++k)
      sum += double(toFloat(shorts[m * (depth + 5) + k])) * weight[n * depth + k];
    return sum * scales[m];
  }

  int64_t rows, columns, depth;
  std::vector<float> x, weight, scales, columnScales;
  std::vector<int32_t> sums;
  std::vector<uint8_t> bytes;
  std::vector<int8_t> rawBytes, packedBytes;
  std::vector<uint16_t> shorts, packedShorts;
};

class GroupedContractTest : public testing::TestWithParam<std::pair<int64_t, int64_t>> {
protected:
  void check(bool isBytes) {
    auto [columns, depth] = GetParam();
    KernelHarness harness(contractText(columns, depth, isBytes));
    auto op = harness.find<mlir::xf::ContractOp>();
    for (Isa isa : kernelIsas(op)) {
      if (!machineHas(isa))
        continue;
      Kernel kernel = harness.compile(op, isa, {{1, 1, 1, 1, 1, 1}});
      for (int64_t rows : {1, 2, 3, 4, 5, 7, 12, 13, 29, 70}) {
        Problem problem(rows, columns, depth);
        std::vector<float> y = problem.run(kernel, isBytes, 1);
        if (isBytes) {
          ASSERT_EQ(y, problem.exact()) << isaName(isa).str() << " rows " << rows;
        } else {
          for (size_t i = 0; i < y.size(); ++i)
            ASSERT_NEAR(y[i], problem.expected(i / columns, i % columns), 1e-6 * (depth + 8)) << isaName(isa).str() << " rows " << rows;
        }
        for (int threads : {2, 3, 7})
          ASSERT_EQ(problem.run(kernel, isBytes, threads), y) << isaName(isa).str() << " rows " << rows << " threads " << threads;
        std::vector<float> last = problem.run(kernel, isBytes, 1, rows - 1);
        ASSERT_TRUE(std::equal(last.end() - columns, last.end(), y.end() - columns)) << "a row depends on its neighbours";
      }
    }
  }
};

TEST_P(GroupedContractTest, BytesAreExact) { check(true); }
TEST_P(GroupedContractTest, BF16IsRightAndInvariant) { check(false); }

INSTANTIATE_TEST_SUITE_P(Shapes, GroupedContractTest,
                         testing::Values(std::pair{64, 64}, std::pair{5, 16}, std::pair{176, 37}, std::pair{100, 1},
                                         std::pair{33, 522}, std::pair{48, 3}));

} // namespace
