#include "test/Target/CPU/KernelHarness.h"

using namespace xf::cpu;
using namespace xf::cpu::test;

namespace {

constexpr int64_t kDynamic = mlir::ShapedType::kDynamic;

/// Replaces each $name by its value.
std::string fill(std::string text, std::initializer_list<std::pair<std::string, std::string>> values) {
  for (auto &[name, value] : values)
    for (size_t at; (at = text.find("$" + name)) != std::string::npos;)
      text.replace(at, name.size() + 1, value);
  return text;
}

void expectClose(const std::vector<float> &actual, const std::vector<double> &expected, double tolerance, const std::string &what) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    ASSERT_NEAR(actual[i], expected[i], tolerance * std::max(1.0, std::abs(expected[i]))) << what << " element " << i;
}

/// s = x + r and y = g * (s - mean) / sqrt(variance + 1e-5): two results, three passes, a broadcast vector.
const char *kNorm = R"(
module attributes {xf.bounds = {B = 8 : i64, S = 64 : i64}} {
xf.parameter @g : tensor<$Dxf32> path "g"
xf.entry @run(%x: $T {xf.name = "x"}, %r: $T {xf.name = "r"}) -> ($T {xf.name = "s"}, $T {xf.name = "y"}) {
  %g = xf.param @g : tensor<$Dxf32>
  %s, %y = xf.row(%x, %r, %g) maps [[0, 1, 2], [0, 1, 2], [2]] : ($T, $T, tensor<$Dxf32>) -> ($T, $T) {
  ^bb0(%a: tensor<$Dxf32>, %b: tensor<$Dxf32>, %gain: tensor<$Dxf32>):
    %sum = xf.map(%a, %b) maps [[0], [0]] : (tensor<$Dxf32>, tensor<$Dxf32>) -> tensor<$Dxf32> {
    ^bb0(%u: f32, %v: f32):
      %w = arith.addf %u, %v : f32
      xf.yield %w : f32
    }
    %total = xf.reduce sum %sum : tensor<$Dxf32> -> tensor<1xf32>
    %mean = xf.map(%total) maps [[0]] : (tensor<1xf32>) -> tensor<1xf32> {
    ^bb0(%u: f32):
      %n = arith.constant $D.0 : f32
      %w = arith.divf %u, %n : f32
      xf.yield %w : f32
    }
    %centred = xf.map(%sum, %mean) maps [[0], [-1]] : (tensor<$Dxf32>, tensor<1xf32>) -> tensor<$Dxf32> {
    ^bb0(%u: f32, %v: f32):
      %w = arith.subf %u, %v : f32
      xf.yield %w : f32
    }
    %square = xf.map(%centred) maps [[0]] : (tensor<$Dxf32>) -> tensor<$Dxf32> {
    ^bb0(%u: f32):
      %w = arith.mulf %u, %u : f32
      xf.yield %w : f32
    }
    %squares = xf.reduce sum %square : tensor<$Dxf32> -> tensor<1xf32>
    %scale = xf.map(%squares) maps [[0]] : (tensor<1xf32>) -> tensor<1xf32> {
    ^bb0(%u: f32):
      %n = arith.constant $D.0 : f32
      %e = arith.constant 1.0e-5 : f32
      %w = arith.divf %u, %n : f32
      %z = arith.addf %w, %e : f32
      %q = math.rsqrt %z : f32
      xf.yield %q : f32
    }
    %out = xf.map(%centred, %scale, %gain) maps [[0], [-1], [0]] : (tensor<$Dxf32>, tensor<1xf32>, tensor<$Dxf32>) -> tensor<$Dxf32> {
    ^bb0(%u: f32, %v: f32, %k: f32):
      %w = arith.mulf %u, %v : f32
      %z = arith.mulf %w, %k : f32
      xf.yield %z : f32
    }
    xf.yield %sum, %out : tensor<$Dxf32>, tensor<$Dxf32>
  }
  xf.return %s, %y : $T, $T
}
})";

class NormTest : public testing::TestWithParam<int64_t> {};

TEST_P(NormTest, IsRightAndInvariant) {
  int64_t d = GetParam(), batch = 3, length = 5, rows = batch * length, wide = d + 3;
  KernelHarness harness(fill(kNorm, {{"T", "tensor<?x?x$Dxf32, #xf.dims<\"B\", \"S\", \"\">>"}, {"D", std::to_string(d)}}));
  auto op = harness.find<mlir::xf::RowOp>();
  std::vector<float> x = randomValues(rows * wide, 1), r = randomValues(rows * d, 2), g = randomValues(d, 3);
  std::vector<double> sums(rows * d), expected(rows * d);
  for (int64_t row = 0; row < rows; ++row) {
    double mean = 0, variance = 0;
    // x is stored sequence first, with gaps between its rows.
    int64_t from = (row % length * batch + row / length) * wide;
    for (int64_t i = 0; i < d; ++i)
      mean += (sums[row * d + i] = double(x[from + i]) + r[row * d + i]) / d;
    for (int64_t i = 0; i < d; ++i)
      variance += std::pow(sums[row * d + i] - mean, 2) / d;
    for (int64_t i = 0; i < d; ++i)
      expected[row * d + i] = g[i] * (sums[row * d + i] - mean) / std::sqrt(variance + 1e-5);
  }
  std::vector<std::vector<float>> byIsa;
  for (Isa isa : machineIsas()) {
    std::string name = isaName(isa).str();
    Kernel kernel = harness.compile(op, isa, {{1, 1, 1, 1, 1}});
    std::vector<float> first;
    for (int threads : {1, 2, 3, 20}) {
      std::vector<float> s(rows * d + 16, -77), y(rows * d + 16, -77);
      kernel({view(x, {batch, length, d}, {wide, batch * wide, 1}), view(r, {batch, length, d}), view(g, {d}), view(s, {batch, length, d}),
              view(y, {batch, length, d})},
             threads);
      for (size_t i = rows * d; i < y.size(); ++i)
        ASSERT_TRUE(s[i] == -77 && y[i] == -77) << "written behind the result";
      s.resize(rows * d), y.resize(rows * d);
      if (threads == 1) {
        expectClose(s, sums, 1e-6, name);
        expectClose(y, expected, d < 4 ? 1e-4 : 5e-6, name);
        first = y;
      }
      ASSERT_EQ(y, first) << name << " threads " << threads;
    }
    byIsa.push_back(first);
    // The last dimension strided: every element on its own.
    Kernel strided = harness.compile(op, isa, {{kDynamic, 1, 1, 1, 2}});
    std::vector<float> turned(rows * d), s(rows * d), y(2 * rows * d);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t i = 0; i < d; ++i)
        turned[i * rows + row] = x[(row % length * batch + row / length) * wide + i];
    strided({view(turned, {batch, length, d}, {length, 1, rows}), view(r, {batch, length, d}), view(g, {d}), view(s, {batch, length, d}),
             view(y, {batch, length, d}, {length * d * 2, d * 2, 2})});
    for (size_t i = 0; i < first.size(); ++i)
      ASSERT_EQ(y[2 * i], first[i]) << name << " strided element " << i;
  }
  if (byIsa.size() == 3)
    EXPECT_EQ(byIsa[1], byIsa[2]) << "AVX2 and AVX-512 differ";
}
INSTANTIATE_TEST_SUITE_P(Widths, NormTest, testing::Values(1, 2, 3, 4, 8, 15, 16, 17, 64, 172));

/// Softmax of rows of dynamic length: a maximum, a dear value that two passes need.
const char *kSoftmax = R"(
module attributes {xf.bounds = {B = 8 : i64, K = 64 : i64}} {
xf.entry @run(%x: $T {xf.name = "x"}) -> ($T {xf.name = "y"}) {
  %y = xf.row(%x) maps [[0, 1]] : ($T) -> ($T) {
  ^bb0(%a: $R):
    %most = xf.reduce max %a : $R -> tensor<1xf32>
    %e = xf.map(%a, %most) maps [[0], [-1]] : ($R, tensor<1xf32>) -> $R {
    ^bb0(%u: f32, %v: f32):
      %w = arith.subf %u, %v : f32
      %z = math.exp %w : f32
      xf.yield %z : f32
    }
    %sum = xf.reduce sum %e : $R -> tensor<1xf32>
    %p = xf.map(%e, %sum) maps [[0], [-1]] : ($R, tensor<1xf32>) -> $R {
    ^bb0(%u: f32, %v: f32):
      %w = arith.divf %u, %v : f32
      xf.yield %w : f32
    }
    xf.yield %p : $R
  }
  xf.return %y : $T
}
})";

TEST(RowTest, SoftmaxOfDynamicLength) {
  KernelHarness harness(fill(kSoftmax, {{"T", "tensor<?x?xf32, #xf.dims<\"B\", \"K\">>"}, {"R", "tensor<?xf32, #xf.dims<\"K\">>"}}));
  auto op = harness.find<mlir::xf::RowOp>();
  std::vector<std::vector<float>> byIsa;
  for (Isa isa : machineIsas()) {
    Kernel kernel = harness.compile(op, isa, {{1, 1}});
    byIsa.emplace_back();
    for (int64_t length = 1; length <= 64; ++length) {
      int64_t rows = 11;
      std::vector<float> x = randomValues(rows * length, length), y(rows * length);
      for (float &value : x)
        value *= 20;
      std::vector<double> expected(rows * length);
      for (int64_t row = 0; row < rows; ++row) {
        double sum = 0;
        for (int64_t i = 0; i < length; ++i)
          sum += std::exp(double(x[row * length + i]));
        for (int64_t i = 0; i < length; ++i)
          expected[row * length + i] = std::exp(double(x[row * length + i])) / sum;
      }
      kernel({view(x, {rows, length}), view(y, {rows, length})}, 2);
      expectClose(y, expected, 1e-6, isaName(isa).str() + " length " + std::to_string(length));
      byIsa.back().insert(byIsa.back().end(), y.begin(), y.end());
    }
  }
  if (byIsa.size() == 3)
    EXPECT_EQ(byIsa[1], byIsa[2]) << "AVX2 and AVX-512 differ";
}

/// table[id] * c + position row, and a flag per row.
const char *kEmbed = R"(
module attributes {xf.bounds = {B = 8 : i64, S = 64 : i64}} {
xf.weight @table : tensor<40x$Dxf32> layers 1 layout $L {
^bb0(%layer: index):
  %t = xf.param @raw : tensor<40x$Dxf32>
  xf.yield %t : tensor<40x$Dxf32>
}
xf.parameter @raw : tensor<40x$Dxf32> path "raw"
xf.entry @run(%ids: tensor<?x?xi32, #xf.dims<"B", "S">> {xf.name = "ids"}, %pos: tensor<?x$Dxf32, #xf.dims<"S", "">> {xf.name = "pos"})
    -> (tensor<?x?x$Dxf32, #xf.dims<"B", "S", "">> {xf.name = "y"}, tensor<?x?x1xi1, #xf.dims<"B", "S", "">> {xf.name = "f"}) {
  %t = xf.param @table : tensor<40x$Dxf32>
  %y, %f = xf.row(%ids, %pos) maps [[0, 1], [1, 2]] : (tensor<?x?xi32, #xf.dims<"B", "S">>, tensor<?x$Dxf32, #xf.dims<"S", "">>)
      -> (tensor<?x?x$Dxf32, #xf.dims<"B", "S", "">>, tensor<?x?x1xi1, #xf.dims<"B", "S", "">>) {
  ^bb0(%id: tensor<1xi32>, %p: tensor<$Dxf32>):
    %e = xf.embed %t, %id : tensor<40x$Dxf32>, tensor<1xi32> -> tensor<$Dxf32>
    %r = xf.map(%e, %p) maps [[0], [0]] : (tensor<$Dxf32>, tensor<$Dxf32>) -> tensor<$Dxf32> {
    ^bb0(%u: f32, %v: f32):
      %c = arith.constant 8.0 : f32
      %w = arith.mulf %u, %c : f32
      %z = arith.addf %w, %v : f32
      xf.yield %z : f32
    }
    %flag = xf.map(%id) maps [[0]] : (tensor<1xi32>) -> tensor<1xi1> {
    ^bb0(%u: i32):
      %c = arith.constant 7 : i32
      %w = arith.cmpi ne, %u, %c : i32
      xf.yield %w : i1
    }
    xf.yield %r, %flag : tensor<$Dxf32>, tensor<1xi1>
  }
  xf.return %y, %f : tensor<?x?x$Dxf32, #xf.dims<"B", "S", "">>, tensor<?x?x1xi1, #xf.dims<"B", "S", "">>
}
})";

TEST(RowTest, EmbedsFromPlainAndPackedTables) {
  for (int64_t d : {1, 5, 16, 70})
    for (bool panels : {false, true}) {
      KernelHarness harness(fill(kEmbed, {{"D", std::to_string(d)}, {"L", panels ? "panels" : "plain"}}));
      auto op = harness.find<mlir::xf::RowOp>();
      int64_t batch = 2, length = 7;
      std::vector<float> table = randomValues(40 * d, 1), packed = packPanels(table, 40, d), position = randomValues(length * d, 2);
      std::vector<int32_t> ids(batch * length);
      for (size_t i = 0; i < ids.size(); ++i)
        ids[i] = i * 37 % 40;
      for (Isa isa : machineIsas()) {
        Kernel kernel = harness.compile(op, isa, {{1, 1, 1, 1, 1}});
        std::vector<float> y(batch * length * d);
        std::vector<uint8_t> flags(batch * length, 9);
        kernel({view(ids, {batch, length}), view(position, {length, d}), view(panels ? packed : table, {40, d}), view(y, {batch, length, d}),
                view(flags.data(), {batch, length, 1})},
               3);
        for (int64_t row = 0; row < batch * length; ++row) {
          EXPECT_EQ(flags[row], ids[row] != 7);
          for (int64_t i = 0; i < d; ++i)
            ASSERT_EQ(y[row * d + i], table[ids[row] * d + i] * 8.0f + position[row % length * d + i]) << isaName(isa).str();
        }
      }
    }
}

/// Rows of a table of 16-bit values, in groups of two where it is in panels.
const char *kEmbedHalves = R"(
module attributes {xf.bounds = {B = 8 : i64}} {
xf.weight @table : tensor<40x$Dxbf16> layers 1 layout $L {
^bb0(%layer: index):
  %t = xf.param @raw : tensor<40x$Dxf32>
  %q = xf.quantize %t : tensor<40x$Dxf32> -> tensor<40x$Dxbf16>
  xf.yield %q : tensor<40x$Dxbf16>
}
xf.parameter @raw : tensor<40x$Dxf32> path "raw"
xf.entry @run(%ids: tensor<?xi32, #xf.dims<"B">> {xf.name = "ids"}) -> (tensor<?x$Dxf32, #xf.dims<"B", "">> {xf.name = "y"}) {
  %t = xf.param @table : tensor<40x$Dxbf16>
  %y = xf.row(%ids) maps [[0]] : (tensor<?xi32, #xf.dims<"B">>) -> (tensor<?x$Dxf32, #xf.dims<"B", "">>) {
  ^bb0(%id: tensor<1xi32>):
    %e = xf.embed %t, %id : tensor<40x$Dxbf16>, tensor<1xi32> -> tensor<$Dxbf16>
    %r = xf.map(%e) maps [[0]] : (tensor<$Dxbf16>) -> tensor<$Dxf32> {
    ^bb0(%u: bf16):
      %w = arith.extf %u : bf16 to f32
      xf.yield %w : f32
    }
    xf.yield %r : tensor<$Dxf32>
  }
  xf.return %y : tensor<?x$Dxf32, #xf.dims<"B", "">>
}
})";

TEST(RowTest, EmbedsFromTablesOf16Bits) {
  for (int64_t d : {1, 5, 16, 37})
    for (bool panels : {false, true}) {
      KernelHarness harness(fill(kEmbedHalves, {{"D", std::to_string(d)}, {"L", panels ? "panels" : "plain"}}));
      // Values that bf16 holds exactly: 1 … 2, in steps of 2^-7.
      int64_t pairs = (d + 1) / 2;
      std::vector<uint16_t> table(panels ? 3 * pairs * 32 : 40 * d, 0x7fff);
      for (int64_t n = 0; n < 40; ++n)
        for (int64_t i = 0; i < d; ++i)
          table[panels ? ((n / 16 * pairs + i / 2) * 16 + n % 16) * 2 + i % 2 : n * d + i] = 0x3f80 + (n * 7 + i * 3) % 128;
      std::vector<int32_t> ids{0, 39, 17, 16, 15, 31};
      int64_t batch = ids.size();
      for (Isa isa : machineIsas()) {
        Kernel kernel = harness.compile(harness.find<mlir::xf::RowOp>(), isa, {{1, 1, 1}});
        std::vector<float> y(batch * d);
        kernel({view(ids, {batch}), view(table, {40, d}), view(y, {batch, d})});
        for (int64_t row = 0; row < batch; ++row)
          for (int64_t i = 0; i < d; ++i)
            ASSERT_EQ(y[row * d + i], 1 + (ids[row] * 7 + i * 3) % 128 / 128.0f) << isaName(isa).str() << " " << row << " " << i;
      }
    }
}

/// Results of fewer bits are as many bytes as they have elements, also where one is left of a vector.
TEST(RowTest, NarrowResultsEndWhereTheyShould) {
  const char *text = R"(
module attributes {xf.bounds = {B = 8 : i64}} {
xf.entry @run(%x: tensor<?x$Dxf32, #xf.dims<"B", "">> {xf.name = "x"}) -> (tensor<?x$Dxbf16, #xf.dims<"B", "">> {xf.name = "y"}, tensor<?x$Dxi8, #xf.dims<"B", "">> {xf.name = "z"}) {
  %y, %z = xf.row(%x) maps [[0, 1]] : (tensor<?x$Dxf32, #xf.dims<"B", "">>) -> (tensor<?x$Dxbf16, #xf.dims<"B", "">>, tensor<?x$Dxi8, #xf.dims<"B", "">>) {
  ^bb0(%a: tensor<$Dxf32>):
    %n, %m = xf.map(%a) maps [[0]] : (tensor<$Dxf32>) -> (tensor<$Dxbf16>, tensor<$Dxi8>) {
    ^bb0(%u: f32):
      %t = arith.truncf %u : f32 to bf16
      %i = arith.fptosi %u : f32 to i32
      %c = arith.trunci %i : i32 to i8
      xf.yield %t, %c : bf16, i8
    }
    xf.yield %n, %m : tensor<$Dxbf16>, tensor<$Dxi8>
  }
  xf.return %y, %z : tensor<?x$Dxbf16, #xf.dims<"B", "">>, tensor<?x$Dxi8, #xf.dims<"B", "">>
}
})";
  for (int64_t width : {1, 2, 15, 16, 17, 18, 33}) {
    KernelHarness harness(fill(text, {{"D", std::to_string(width)}}));
    for (Isa isa : machineIsas()) {
      Kernel kernel = harness.compile(harness.find<mlir::xf::RowOp>(), isa, {{1, 1, 1}});
      std::vector<float> x(width);
      std::vector<uint16_t> y(width + 16, 0xaaaa), halves = y;
      std::vector<int8_t> z(width + 16, -86), bytes = z;
      for (int64_t i = 0; i < width; ++i) {
        x[i] = static_cast<float>(i + 1);
        uint32_t bits;
        std::memcpy(&bits, &x[i], sizeof(bits));
        halves[i] = bits >> 16, bytes[i] = i + 1; // bf16 holds these values exactly
      }
      kernel({view(x, {1, width}), view(y, {1, width}), view(z, {1, width})});
      EXPECT_EQ(y, halves) << isaName(isa).str() << " width " << width;
      EXPECT_EQ(z, bytes) << isaName(isa).str() << " width " << width;
    }
  }
}

/// To the nearest, ties to even, on all instruction sets; what is NaN stays so.
TEST(RowTest, RoundsToBF16) {
  const char *text = R"(
module attributes {xf.bounds = {B = 8 : i64}} {
xf.entry @run(%x: tensor<?x19xf32, #xf.dims<"B", "">> {xf.name = "x"}) -> (tensor<?x19xbf16, #xf.dims<"B", "">> {xf.name = "y"}) {
  %y = xf.row(%x) maps [[0, 1]] : (tensor<?x19xf32, #xf.dims<"B", "">>) -> (tensor<?x19xbf16, #xf.dims<"B", "">>) {
  ^bb0(%a: tensor<19xf32>):
    %n = xf.map(%a) maps [[0]] : (tensor<19xf32>) -> (tensor<19xbf16>) {
    ^bb0(%u: f32):
      %t = arith.truncf %u : f32 to bf16
      xf.yield %t : bf16
    }
    xf.yield %n : tensor<19xbf16>
  }
  xf.return %y : tensor<?x19xbf16, #xf.dims<"B", "">>
}
})";
  KernelHarness harness(text);
  auto op = harness.find<mlir::xf::RowOp>();
  EXPECT_EQ(kernelIsas(op).back(), Isa::avx512_bf16);
  const std::pair<uint32_t, uint16_t> cases[] = {{0x3f800000, 0x3f80}, {0x3f808000, 0x3f80}, {0x3f808001, 0x3f81}, {0x3f818000, 0x3f82},
                                                 {0x3f817fff, 0x3f81}, {0xbf808000, 0xbf80}, {0xbf818000, 0xbf82}, {0x7f7f7fff, 0x7f7f},
                                                 {0x7f7f8000, 0x7f80}, {0x7f800000, 0x7f80}, {0xff800000, 0xff80}, {0x7fc00000, 0x7fc0},
                                                 {0x7f800001, 0x7fc0}, {0x7fffffff, 0x7fff}, {0x00800000, 0x0080}, {0x00ffffff, 0x0100},
                                                 {0x00000000, 0x0000}, {0x80000000, 0x8000}, {0x34008001, 0x3401}};
  for (Isa isa : runnableIsas(op)) {
    Kernel kernel = harness.compile(op, isa, {{1, 1}});
    std::vector<float> x(19);
    std::vector<uint16_t> y(19), rounded(19);
    for (int64_t i = 0; i < 19; ++i) {
      std::memcpy(&x[i], &cases[i].first, sizeof(float));
      rounded[i] = cases[i].second;
    }
    kernel({view(x, {1, 19}), view(y, {1, 19})});
    EXPECT_EQ(y, rounded) << isaName(isa).str();
  }
}

TEST(RowTest, Positions) {
  KernelHarness harness(R"(
module attributes {xf.bounds = {B = 8 : i64, N = 64 : i64}} {
xf.entry @run(%past: tensor<?xi32, #xf.dims<"B">> {xf.name = "past"}) -> (tensor<?x?xi32, #xf.dims<"B", "N">> {xf.name = "y"}) {
  %y = xf.positions from %past : tensor<?xi32, #xf.dims<"B">> -> tensor<?x?xi32, #xf.dims<"B", "N">> {offset = 2 : i64}
  xf.return %y : tensor<?x?xi32, #xf.dims<"B", "N">>
}
})");
  std::vector<int32_t> past{3, 0, 9}, y(15);
  Kernel kernel = harness.compile(harness.find<mlir::xf::PositionsOp>(), Isa::baseline, {{1, 1}});
  kernel({view(past, {3}), view(y, {3, 5})}, 2);
  for (int i = 0; i < 15; ++i)
    EXPECT_EQ(y[i], past[i / 5] + i % 5 + 2);
}

/// Each function on values of all sizes, against libm in f64.
struct Function {
  std::string body;
  double (*expected)(double);
  double low, high;
};
class FunctionTest : public testing::TestWithParam<Function> {};

/// Numbers that lie as near to one whole number as to another, and those between.
const std::string kHalves =
    "%two = arith.constant 2.0 : f32\n%i = arith.fptosi %x1 : f32 to i32\n%w = arith.sitofp %i : i32 to f32\n%h = arith.divf %w, %two : f32\n";

TEST_P(FunctionTest, IsAccurate) {
  Function function = GetParam();
  KernelHarness harness(fill(R"(
xf.entry @run(%x: tensor<1003xf32> {xf.name = "x"}) -> (tensor<1003xf32> {xf.name = "y"}) {
  %y = xf.row(%x) maps [[0]] : (tensor<1003xf32>) -> tensor<1003xf32> {
  ^bb0(%a: tensor<1003xf32>):
    %e = xf.map(%a) maps [[0]] : (tensor<1003xf32>) -> tensor<1003xf32> {
    ^bb0(%x1: f32):
      $F
      xf.yield %f : f32
    }
    xf.yield %e : tensor<1003xf32>
  }
  xf.return %y : tensor<1003xf32>
})",
                             {{"F", function.body}}));
  std::vector<float> x = randomValues(1003, 5), y(1003);
  for (float &value : x)
    value = function.low + (function.high - function.low) * (value + 1) / 2;
  std::vector<std::vector<float>> byIsa;
  for (Isa isa : machineIsas()) {
    Kernel kernel = harness.compile(harness.find<mlir::xf::RowOp>(), isa, {{1, 1}});
    kernel({view(x, {1003}), view(y, {1003})});
    byIsa.push_back(y);
    for (size_t i = 0; i < x.size(); ++i) {
      double expected = function.expected(x[i]);
      ASSERT_LT(std::abs(y[i] - expected) / std::max(std::abs(expected), 1e-3), 1e-6) << isaName(isa).str() << " " << function.body << " of " << x[i];
    }
  }
  if (byIsa.size() == 3)
    EXPECT_EQ(byIsa[1], byIsa[2]) << "AVX2 and AVX-512 differ";
}
INSTANTIATE_TEST_SUITE_P(
    Functions, FunctionTest,
    testing::Values(
        Function{"%f = math.exp %x1 : f32", [](double x) { return std::exp(x); }, -80, 80},
        Function{"%f = math.exp2 %x1 : f32", [](double x) { return std::exp2(x); }, -120, 120},
        Function{"%f = math.expm1 %x1 : f32", [](double x) { return std::expm1(x); }, -20, 20},
        Function{"%f = math.expm1 %x1 : f32", [](double x) { return std::expm1(x); }, -0.01, 0.01},
        Function{"%f = math.log %x1 : f32", [](double x) { return std::log(x); }, 1e-6, 50},
        Function{"%f = math.log1p %x1 : f32", [](double x) { return std::log1p(x); }, -0.999, 50},
        Function{"%f = math.log1p %x1 : f32", [](double x) { return std::log1p(x); }, -0.01, 0.01},
        Function{"%f = math.tanh %x1 : f32", [](double x) { return std::tanh(x); }, -10, 10},
        Function{"%f = math.erf %x1 : f32", [](double x) { return std::erf(x); }, -5, 5},
        Function{"%f = math.sin %x1 : f32", [](double x) { return std::sin(x); }, -5000, 5000},
        Function{"%f = math.cos %x1 : f32", [](double x) { return std::cos(x); }, -5000, 5000},
        Function{"%f = math.sqrt %x1 : f32", [](double x) { return std::sqrt(x); }, 0, 100},
        Function{"%f = math.rsqrt %x1 : f32", [](double x) { return 1 / std::sqrt(x); }, 1e-3, 100},
        Function{"%c = arith.constant 1.7 : f32\n%f = math.powf %x1, %c : f32", [](double x) { return std::pow(x, double(1.7f)); }, 0, 5000},
        Function{"%c = arith.constant -3.0 : f32\n%f = math.powf %x1, %c : f32", [](double x) { return std::pow(x, -3); }, -3, 3},
        Function{"%c = arith.constant 1.0e4 : f32\n%f = math.powf %c, %x1 : f32", [](double x) { return std::pow(1e4, x); }, -2, 2},
        Function{"%c = arith.constant 7.0 : f32\n%f = arith.remf %x1, %c : f32", [](double x) { return std::fmod(x, 7); }, -1000, 1000},
        Function{
            "%c = arith.constant -3 : i32\n%i = arith.fptosi %x1 : f32 to i32\n%d = arith.floordivsi %i, %c : i32\n%f = arith.sitofp %d : i32 to f32",
            [](double x) { return std::floor(std::trunc(x) / -3); }, -100, 100},
        Function{
            "%c = arith.constant 3 : i32\n%i = arith.fptosi %x1 : f32 to i32\n%d = arith.ceildivsi %i, %c : i32\n%f = arith.sitofp %d : i32 to f32",
            [](double x) { return std::ceil(std::trunc(x) / 3); }, -100, 100},
        Function{"%f = math.floor %x1 : f32", [](double x) { return std::floor(x); }, -10, 10},
        Function{"%f = math.round %x1 : f32", [](double x) { return std::round(x); }, -10, 10},
        Function{kHalves + "%f = math.round %h : f32", [](double x) { return std::round(std::trunc(x) / 2); }, -10, 10},
        Function{kHalves + "%f = math.roundeven %h : f32", [](double x) { return std::nearbyint(std::trunc(x) / 2); }, -10, 10},
        Function{kHalves + "%c = arith.constant 0.99999994 : f32\n%l = arith.mulf %h, %c : f32\n%f = math.round %l : f32",
                 [](double x) { return std::round(static_cast<double>(static_cast<float>(std::trunc(x) / 2) * 0.99999994f)); }, -10, 10}));

} // namespace
