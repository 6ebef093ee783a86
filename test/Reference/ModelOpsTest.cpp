// Model ops, one by one.
#include "test/Reference/Fixture.h"

using namespace xf;

namespace {

using ModelOpsTest = InterpreterTest;

TEST_F(ModelOpsTest, LinearAndParam) {
  parameters.values = {{"w", {1, 2, 3, 4, 5, 6}}, {"b", {10, 20}}};
  loadEntry(R"(%x: tensor<?x3xf32, #xf.dims<"B", "">> {xf.name = "x"})", R"(tensor<?x2xf32, #xf.dims<"B", "">> {xf.name = "y"})",
            R"(%w = xf.param @w : tensor<2x3xf32>
               %b = xf.param @b : tensor<2xf32>
               %y = xf.linear %x, %w, %b : tensor<?x3xf32, #xf.dims<"B", "">>, tensor<2x3xf32>, tensor<2xf32> -> tensor<?x2xf32, #xf.dims<"B", "">>
               xf.return %y : tensor<?x2xf32, #xf.dims<"B", "">>)",
            R"(xf.parameter @w : tensor<2x3xf32> path "w"
               xf.parameter @b : tensor<2xf32> path "b")");
  for (Precision precision : {Precision::F32, Precision::F64})
    expectNear(run({{"x", floats({2, 3}, {1, 0, 0, 1, 1, 1})}}, precision)["y"], {11, 24, 16, 35});
}

TEST_F(ModelOpsTest, QuantizeBoundsWhatItLoses) {
  constexpr int64_t kRows = 4, kDepth = 5;
  const std::vector<float> weight = {0.3f, -1, 0.71f, 0.2f, 0, /*zeros*/ 0, 0, 0, 0, 0, /*exact*/ 127, 1, -3, 50, 2, /*too long*/ 1e20f, 1, 2, 3, 4};
  parameters.values["w"].assign(weight.begin(), weight.end());
  for (bool areWords : {false, true}) {
    std::string columns = "tensor<4xf32>", names = areWords ? "%q, %s, %l, %e, %m" : "%q, %s, %u, %l, %e, %m";
    std::string q = areWords ? "tensor<4x5xi16>" : "tensor<4x5xi8>", types = q + ", " + columns,
                results = q + R"( {xf.name = "q"}, )" + columns + R"( {xf.name = "s"})";
    auto add = [&](std::string name, std::string type) {
      types += ", " + type;
      results += ", " + type + " {xf.name = \"" + name + "\"}";
    };
    if (!areWords)
      add("u", "tensor<4xi32>");
    add("l", columns);
    add("e", columns);
    add("m", "tensor<5xf32>");
    loadEntry("", results,
              "%w = xf.param @w : tensor<4x5xf32>\n" + names + " = xf.quantize %w : tensor<4x5xf32> -> " + types + "\nxf.return " + names + " : " +
                  types,
              R"(xf.parameter @w : tensor<4x5xf32> path "w")");
    auto result = run({});
    std::vector<double> mean(kDepth);
    for (int64_t n = 0; n < kRows; ++n) {
      double length = 0, error = 0, sum = 0, squares = 0;
      for (int64_t k = 0; k < kDepth; ++k) {
        double w = weight[n * kDepth + k], element = result["q"].ints[n * kDepth + k];
        length += w * w;
        error += std::pow(w - result["s"].floats[n] * element, 2);
        sum += element;
        squares += element * element;
        mean[k] += w / kRows;
        EXPECT_LE(std::fabs(element), areWords ? 32767 : 127) << n;
      }
      if (areWords)
        EXPECT_LE(std::sqrt(squares), 46001) << n;
      else
        EXPECT_EQ(result["u"].ints[n], sum) << n;
      EXPECT_GE(result["l"].floats[n], std::sqrt(length)) << n;
      EXPECT_LE(result["l"].floats[n], std::sqrt(length) * (1 + 1e-6) + 1e-40) << n;
      if (n == 3) {
        EXPECT_EQ(result["e"].floats[n], INFINITY);
      } else {
        EXPECT_GE(result["e"].floats[n], std::sqrt(error)) << n;
        EXPECT_LE(result["e"].floats[n], std::sqrt(error) * (1 + 1e-6) + 1e-40) << n;
        EXPECT_LE(std::sqrt(error), std::sqrt(length) * (areWords ? 1e-4 : 1e-2)) << n;
      }
    }
    for (int64_t k = 0; k < kDepth; ++k)
      EXPECT_FLOAT_EQ(result["m"].floats[k], mean[k]) << k;
  }
}

TEST_F(ModelOpsTest, WideLinearSumsEveryColumn) {
  std::vector<float> weight(19 * 5);
  for (size_t i = 0; i < weight.size(); ++i)
    weight[i] = std::sin(i);
  parameters.values = {{"w", weight}};
  loadEntry(R"(%x: tensor<3x5xf32> {xf.name = "x"})", R"(tensor<3x19xf32> {xf.name = "y"})",
            R"(%w = xf.param @w : tensor<19x5xf32>
               %y = xf.linear %x, %w : tensor<3x5xf32>, tensor<19x5xf32> -> tensor<3x19xf32>
               xf.return %y : tensor<3x19xf32>)",
            R"(xf.parameter @w : tensor<19x5xf32> path "w")");
  Tensor y = run({{"x", count({3, 5})}})["y"];
  for (int m = 0; m < 3; ++m)
    for (int n = 0; n < 19; ++n) {
      double want = 0;
      for (int k = 0; k < 5; ++k)
        want += (m * 5 + k + 1) * double(weight[n * 5 + k]);
      EXPECT_DOUBLE_EQ(y.floats[m * 19 + n], want);
    }
}

TEST_F(ModelOpsTest, PositionsAndEmbed) {
  parameters.values = {{"t", {0, 1, 10, 11, 20, 21, 30, 31}}};
  loadEntry(R"(%ids: tensor<?x?xi32, #xf.dims<"B", "S">> {xf.name = "ids"})",
            R"(tensor<?x?x2xf32, #xf.dims<"B", "S", "">> {xf.name = "x"}, tensor<?x2xf32, #xf.dims<"S", "">> {xf.name = "p"})",
            R"(%t = xf.param @t : tensor<4x2xf32>
               %x = xf.embed %t, %ids : tensor<4x2xf32>, tensor<?x?xi32, #xf.dims<"B", "S">> -> tensor<?x?x2xf32, #xf.dims<"B", "S", "">>
               %n = xf.positions : tensor<?xi32, #xf.dims<"S">> {offset = 1 : i64}
               %p = xf.embed %t, %n : tensor<4x2xf32>, tensor<?xi32, #xf.dims<"S">> -> tensor<?x2xf32, #xf.dims<"S", "">>
               xf.return %x, %p : tensor<?x?x2xf32, #xf.dims<"B", "S", "">>, tensor<?x2xf32, #xf.dims<"S", "">>)",
            R"(xf.parameter @t : tensor<4x2xf32> path "t")");
  auto results = run({{"ids", ints({1, 2}, {3, 0})}});
  expectNear(results["x"], {30, 31, 0, 1});
  expectNear(results["p"], {10, 11, 20, 21});
  EXPECT_HAS(errorOf({{"ids", ints({1, 2}, {4, 0})}}), "id 4 is outside the table of 4 rows");
  EXPECT_HAS(errorOf({{"ids", ints({1, 2}, {-1, 0})}}), "id -1 is outside");
}

TEST_F(ModelOpsTest, MapBroadcasts) {
  loadEntry(
      R"(%x: tensor<?x3xf32, #xf.dims<"B", "">> {xf.name = "x"}, %y: tensor<?x1xf32, #xf.dims<"B", "">> {xf.name = "y"},
               %z: tensor<3xf32> {xf.name = "z"})",
      R"(tensor<?x3xf32, #xf.dims<"B", "">> {xf.name = "sum"}, tensor<?x3xi1, #xf.dims<"B", "">> {xf.name = "less"})",
      R"(%a, %b = xf.map(%x, %y, %z) maps [[0, 1], [0, -1], [1]] : (tensor<?x3xf32, #xf.dims<"B", "">>, tensor<?x1xf32, #xf.dims<"B", "">>, tensor<3xf32>)
                   -> (tensor<?x3xf32, #xf.dims<"B", "">>, tensor<?x3xi1, #xf.dims<"B", "">>) {
               ^bb0(%p: f32, %q: f32, %r: f32):
                 %s = arith.addf %p, %q : f32
                 %t = arith.addf %s, %r : f32
                 %c = arith.cmpf olt, %p, %r : f32
                 xf.yield %t, %c : f32, i1
               }
               xf.return %a, %b : tensor<?x3xf32, #xf.dims<"B", "">>, tensor<?x3xi1, #xf.dims<"B", "">>)");
  auto results = run({{"x", count({2, 3})}, {"y", floats({2, 1}, {10, 20})}, {"z", floats({3}, {100, 200, 300})}});
  expectNear(results["sum"], {111, 212, 313, 124, 225, 326});
  EXPECT_EQ(results["less"].ints, (std::vector<int64_t>(6, 1)));
  EXPECT_EQ(results["less"].kind, Tensor::Kind::Bool);
}

TEST_F(ModelOpsTest, ReduceInTheFixedOrder) {
  loadEntry(R"(%x: tensor<2x40xf32> {xf.name = "x"})", R"(tensor<2x1xf32> {xf.name = "s"}, tensor<2x1xf32> {xf.name = "m"})",
            R"(%s = xf.reduce sum %x : tensor<2x40xf32> -> tensor<2x1xf32>
               %m = xf.reduce max %x : tensor<2x40xf32> -> tensor<2x1xf32>
               xf.return %s, %m : tensor<2x1xf32>, tensor<2x1xf32>)");
  Tensor x = floats({2, 40}, std::vector<double>(80));
  for (int i = 0; i < 80; ++i)
    x.floats[i] = static_cast<float>(std::sin(i) * std::pow(10, i % 7));
  auto results = run({{"x", x}}, Precision::F32);
  for (int row = 0; row < 2; ++row) {
    float part[16] = {};
    for (int i = 0; i < 40; ++i)
      part[i % 16] += static_cast<float>(x.floats[row * 40 + i]);
    for (int d = 8; d; d /= 2)
      for (int i = 0; i < d; ++i)
        part[i] += part[i + d];
    EXPECT_EQ(results["s"].floats[row], part[0]);
    EXPECT_EQ(results["m"].floats[row], *std::max_element(x.floats.begin() + row * 40, x.floats.begin() + row * 40 + 40));
  }
}

TEST_F(ModelOpsTest, ReduceWholeNumbers) {
  loadEntry(R"(%x: tensor<2x3xi32> {xf.name = "x"})", R"(tensor<2x1xi32> {xf.name = "s"}, tensor<2x1xi32> {xf.name = "m"})",
            R"(%s = xf.reduce sum %x : tensor<2x3xi32> -> tensor<2x1xi32>
               %m = xf.reduce max %x : tensor<2x3xi32> -> tensor<2x1xi32>
               xf.return %s, %m : tensor<2x1xi32>, tensor<2x1xi32>)");
  auto results = run({{"x", ints({2, 3}, {-5, -7, -6, 2000000000, 1, 2000000000})}});
  EXPECT_EQ(results["s"].ints, (std::vector<int64_t>{-18, 4000000001 - (int64_t(1) << 32)}));
  EXPECT_EQ(results["m"].ints, (std::vector<int64_t>{-5, 2000000000}));
}

TEST_F(ModelOpsTest, RearrangeSliceConcat) {
  loadEntry(
      R"(%x: tensor<?x?x4xf32, #xf.dims<"B", "T", "">> {xf.name = "x"})",
      R"(tensor<?x2x?x2xf32, #xf.dims<"B", "", "T", "">> {xf.name = "split"}, tensor<?x?x4xf32, #xf.dims<"T", "B", "">> {xf.name = "merged"},
               tensor<?x?x2xf32, #xf.dims<"B", "T", "">> {xf.name = "odd"}, tensor<?x?x6xf32, #xf.dims<"B", "T", "">> {xf.name = "both"},
               tensor<?x1x4xf32, #xf.dims<"B", "", "">> {xf.name = "first"})",
      R"ir(%s = xf.rearrange %x "B T (h k) -> B h T k" {h = 2 : i64} : tensor<?x?x4xf32, #xf.dims<"B", "T", "">> -> tensor<?x2x?x2xf32, #xf.dims<"B", "", "T", "">>
               %m = xf.rearrange %s "B h T k -> T B (k h)" {} : tensor<?x2x?x2xf32, #xf.dims<"B", "", "T", "">> -> tensor<?x?x4xf32, #xf.dims<"T", "B", "">>
               %o = xf.slice %x axis 2 start 1 step 2 : tensor<?x?x4xf32, #xf.dims<"B", "T", "">> -> tensor<?x?x2xf32, #xf.dims<"B", "T", "">>
               %c = xf.concat(%o, %x) axis 2 : (tensor<?x?x2xf32, #xf.dims<"B", "T", "">>, tensor<?x?x4xf32, #xf.dims<"B", "T", "">>) -> tensor<?x?x6xf32, #xf.dims<"B", "T", "">>
               %f = xf.slice %x axis 1 start 0 : tensor<?x?x4xf32, #xf.dims<"B", "T", "">> -> tensor<?x1x4xf32, #xf.dims<"B", "", "">>
               xf.return %s, %m, %o, %c, %f : tensor<?x2x?x2xf32, #xf.dims<"B", "", "T", "">>, tensor<?x?x4xf32, #xf.dims<"T", "B", "">>,
                   tensor<?x?x2xf32, #xf.dims<"B", "T", "">>, tensor<?x?x6xf32, #xf.dims<"B", "T", "">>, tensor<?x1x4xf32, #xf.dims<"B", "", "">>)ir");
  auto results = run({{"x", count({1, 2, 4})}});
  expectNear(results["split"], {1, 2, 5, 6, 3, 4, 7, 8});
  EXPECT_EQ(results["split"].shape, (std::vector<int64_t>{1, 2, 2, 2}));
  expectNear(results["merged"], {1, 3, 2, 4, 5, 7, 6, 8});
  EXPECT_EQ(results["merged"].shape, (std::vector<int64_t>{2, 1, 4}));
  expectNear(results["odd"], {2, 4, 6, 8});
  expectNear(results["both"], {2, 4, 1, 2, 3, 4, 6, 8, 5, 6, 7, 8});
  expectNear(results["first"], {1, 2, 3, 4});
}

TEST_F(ModelOpsTest, SliceOfAShortDynamicDimension) {
  loadEntry(R"(%x: tensor<?xf32, #xf.dims<"S">> {xf.name = "x"})", R"(tensor<2xf32> {xf.name = "y"})",
            R"(%y = xf.slice %x axis 0 start 1 : tensor<?xf32, #xf.dims<"S">> -> tensor<2xf32>
               xf.return %y : tensor<2xf32>)");
  expectNear(run({{"x", count({3})}})["y"], {2, 3});
  EXPECT_HAS(errorOf({{"x", count({2})}}), "reads up to position 2 of dimension 0, which has 2");
}

TEST_F(ModelOpsTest, ScanAlongAnAxis) {
  loadEntry(R"(%f: tensor<2x3x2xf32> {xf.name = "f"})", R"(tensor<2x3x2xf32> {xf.name = "c"})",
            R"(%c = xf.scan(%f) axis 1 init [5.0] : (tensor<2x3x2xf32>) -> tensor<2x3x2xf32> {
               ^bb0(%s: f32, %a: f32):
                 %q = arith.addf %s, %a : f32
                 xf.yield %q, %q : f32, f32
               }
               xf.return %c : tensor<2x3x2xf32>)");
  expectNear(run({{"f", count({2, 3, 2})}})["c"], {6, 7, 9, 11, 14, 17, 12, 13, 21, 23, 32, 35});
}

TEST_F(ModelOpsTest, ScanFromTheEnd) {
  loadEntry(R"(%f: tensor<2x3x2xf32> {xf.name = "f"})", R"(tensor<2x3x2xf32> {xf.name = "c"})",
            R"(%c = xf.scan(%f) axis 1 reverse init [5.0] : (tensor<2x3x2xf32>) -> tensor<2x3x2xf32> {
               ^bb0(%s: f32, %a: f32):
                 %q = arith.addf %s, %a : f32
                 xf.yield %q, %q : f32, f32
               }
               xf.return %c : tensor<2x3x2xf32>)");
  expectNear(run({{"f", count({2, 3, 2})}})["c"], {14, 17, 13, 15, 10, 11, 32, 35, 25, 27, 16, 17});
}

TEST_F(ModelOpsTest, RepeatUsesTheLayersParameters) {
  parameters.values = {{"l.0.b", {1}}, {"l.1.b", {10}}, {"l.2.b", {100}}};
  loadEntry(R"(%x: tensor<1xf32> {xf.name = "x"})",
            R"(tensor<1xf32> {xf.name = "y"}, tensor<1xf32> {xf.name = "last"}, tensor<1xf32> {xf.name = "second"})",
            R"(%y, %last = xf.repeat 3 (%x) : (tensor<1xf32>) -> (tensor<1xf32>, tensor<1xf32>) {
               ^bb0(%layer: index, %h: tensor<1xf32>):
                 %b = xf.param @b[%layer] : tensor<1xf32>
                 %s = xf.map(%h, %b) maps [[0], [0]] : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32> {
                 ^bb0(%p: f32, %q: f32):
                   %v = arith.addf %p, %q : f32
                   xf.yield %v : f32
                 }
                 xf.yield %s, %b : tensor<1xf32>, tensor<1xf32>
               }
               %one = arith.constant 1 : index
               %second = xf.param @b[%one] : tensor<1xf32>
               xf.return %y, %last, %second : tensor<1xf32>, tensor<1xf32>, tensor<1xf32>)",
            R"(xf.parameter @b : tensor<1xf32> path "l.{0}.b" counts [3])");
  auto results = run({{"x", floats({1}, {0.5})}});
  expectNear(results["y"], {111.5});
  expectNear(results["last"], {100});
  expectNear(results["second"], {10});
}

} // namespace
