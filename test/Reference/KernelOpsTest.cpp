// Kernel ops, which must mean what their model ops do.
#include "test/Reference/Fixture.h"

using namespace xf;

namespace {

using KernelOpsTest = InterpreterTest;

TEST_F(KernelOpsTest, ContractWithEpilogue) {
  parameters.values = {{"w", {1, 2, 3, 4}}, {"b", {-100, 1}}};
  loadEntry(R"(%x: tensor<?x2xf32, #xf.dims<"B", "">> {xf.name = "x"}, %r: tensor<?x2xf32, #xf.dims<"B", "">> {xf.name = "r"})",
            R"(tensor<?x2xf32, #xf.dims<"B", "">> {xf.name = "y"})",
            R"(%w = xf.param @w : tensor<2x2xf32>
               %b = xf.param @b : tensor<2xf32>
               %y = xf.contract %x, %w extras(%b, %r) maps [[1], [0, 1]] : tensor<?x2xf32, #xf.dims<"B", "">>, tensor<2x2xf32>
                   extras(tensor<2xf32>, tensor<?x2xf32, #xf.dims<"B", "">>) -> tensor<?x2xf32, #xf.dims<"B", "">> {
               ^bb0(%acc: f32, %bias: f32, %res: f32):
                 %zero = arith.constant 0.0 : f32
                 %s = arith.addf %acc, %bias : f32
                 %relu = arith.maximumf %s, %zero : f32
                 %t = arith.addf %relu, %res : f32
                 xf.yield %t : f32
               }
               xf.return %y : tensor<?x2xf32, #xf.dims<"B", "">>)",
            R"(xf.parameter @w : tensor<2x2xf32> path "w"
               xf.parameter @b : tensor<2xf32> path "b")");
  expectNear(run({{"x", floats({2, 2}, {1, 1, 2, 0})}, {"r", count({2, 2})}})["y"], {1, 10, 3, 11});
}

TEST_F(KernelOpsTest, RowNormalisesAndLooksUp) {
  parameters.values = {{"t", {0, 0, 0, 10, 20, 30}}};
  loadEntry(R"(%x: tensor<?x?x3xf32, #xf.dims<"B", "S", "">> {xf.name = "x"}, %id: tensor<?x?xi32, #xf.dims<"B", "S">> {xf.name = "id"},
               %g: tensor<3xf32> {xf.name = "g"})",
            R"(tensor<?x?x3xf32, #xf.dims<"B", "S", "">> {xf.name = "y"}, tensor<?x?x1xf32, #xf.dims<"B", "S", "">> {xf.name = "sum"})",
            R"(%t = xf.param @t : tensor<2x3xf32>
               %y, %s = xf.row(%x, %id, %g) maps [[0, 1, 2], [0, 1], [2]] : (tensor<?x?x3xf32, #xf.dims<"B", "S", "">>, tensor<?x?xi32, #xf.dims<"B", "S">>, tensor<3xf32>)
                   -> (tensor<?x?x3xf32, #xf.dims<"B", "S", "">>, tensor<?x?x1xf32, #xf.dims<"B", "S", "">>) {
               ^bb0(%r: tensor<3xf32>, %i: tensor<1xi32>, %gain: tensor<3xf32>):
                 %e = xf.embed %t, %i : tensor<2x3xf32>, tensor<1xi32> -> tensor<3xf32>
                 %sum = xf.reduce sum %r : tensor<3xf32> -> tensor<1xf32>
                 %n = xf.map(%r, %sum, %gain, %e) maps [[0], [-1], [0], [0]] : (tensor<3xf32>, tensor<1xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32> {
                 ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
                   %q = arith.divf %a, %b : f32
                   %m = arith.mulf %q, %c : f32
                   %z = arith.addf %m, %d : f32
                   xf.yield %z : f32
                 }
                 xf.yield %n, %sum : tensor<3xf32>, tensor<1xf32>
               }
               xf.return %y, %s : tensor<?x?x3xf32, #xf.dims<"B", "S", "">>, tensor<?x?x1xf32, #xf.dims<"B", "S", "">>)",
            R"(xf.parameter @t : tensor<2x3xf32> path "t")");
  auto results = run({{"x", floats({1, 2, 3}, {1, 1, 2, 2, 2, 4})}, {"id", ints({1, 2}, {0, 1})}, {"g", floats({3}, {4, 4, 8})}});
  expectNear(results["y"], {1, 1, 4, 11, 21, 34});
  expectNear(results["sum"], {4, 8});
}

TEST_F(KernelOpsTest, ChooseTakesTheBestOfWhatIsAllowed) {
  parameters.values = {{"w", {1, 2, 3, 4, 4, -1, 0, 0, 0, 0}}};
  loadEntry(R"(%x: tensor<?x?x2xf32, #xf.dims<"N", "B", "">> {xf.name = "x"}, %f: tensor<?x4xi32, #xf.dims<"C", "">> {xf.name = "f"},
               %c: tensor<?xi32, #xf.dims<"B">> {xf.name = "c"}, %o: tensor<2xi32> {xf.name = "o"})",
            R"(tensor<?x4xf32, #xf.dims<"B", "">> {xf.name = "values"}, tensor<?x4xi32, #xf.dims<"B", "">> {xf.name = "tokens"},
               tensor<?x2xf32, #xf.dims<"B", "">> {xf.name = "norms"})",
            R"(%w = xf.param @w : tensor<5x2xf32>
               %v, %t, %m, %p = xf.choose %x, %w axis 0 forbidden %f by %c options %o extras() maps [] :
                   tensor<?x?x2xf32, #xf.dims<"N", "B", "">>, tensor<5x2xf32>, tensor<?x4xi32, #xf.dims<"C", "">>,
                   tensor<?xi32, #xf.dims<"B">>, tensor<2xi32> -> tensor<?x4xf32, #xf.dims<"B", "">>,
                   tensor<?x4xi32, #xf.dims<"B", "">>, tensor<?x2xf32, #xf.dims<"B", "">>, tensor<?x288xf32, #xf.dims<"B", "">> {
               ^bb0(%acc: f32):
                 xf.yield %acc : f32
               }
               xf.return %v, %t, %m : tensor<?x4xf32, #xf.dims<"B", "">>, tensor<?x4xi32, #xf.dims<"B", "">>, tensor<?x2xf32, #xf.dims<"B", "">>)",
            R"(xf.parameter @w : tensor<5x2xf32> path "w")");
  // Of two positions the last: (1, 0) and (0, 0), whose logits are 1, 3, 4, 0, 0 and all 0. The second row may not have 1 and 2.
  auto results = run({{"x", floats({2, 2, 2}, {9, 9, 9, 9, 1, 0, 0, 0})},
                      {"f", ints({2, 4}, {0, 0, 0, 0, 6, 0, 0, 0})},
                      {"c", ints({2}, {0, 1})},
                      {"o", ints({2}, {3, 1})}});
  EXPECT_EQ(results["tokens"].ints, (std::vector<int64_t>{2, 1, 0, -1, 0, 3, 4, -1}));
  std::vector<double> values = results["values"].floats, norms = results["norms"].floats;
  EXPECT_EQ(std::vector<double>(values.begin(), values.begin() + 3), (std::vector<double>{4, 3, 1}));
  EXPECT_EQ(values[3], -INFINITY);
  expectNear(results["norms"], {4, 1 + std::exp(-1.0) + std::exp(-3.0) + 2 * std::exp(-4.0), 0, 3});
}

TEST_F(KernelOpsTest, PackChangesNothing) {
  loadEntry(R"(%x: tensor<1x2x3x4xf32> {xf.name = "x"})", R"(tensor<1x2x3x4xf32> {xf.name = "y"})",
            R"(%y = xf.pack keys %x : tensor<1x2x3x4xf32>
               xf.return %y : tensor<1x2x3x4xf32>)");
  EXPECT_EQ(run({{"x", count({1, 2, 3, 4})}})["y"].floats, count({1, 2, 3, 4}).floats);
}

const char *weights = R"(
  xf.parameter @k : tensor<2x2xf32> path "k.{0}" counts [2]
  xf.weight @kk : tensor<4x2xf32> layers 2 layout panels {
  ^bb0(%layer: index):
    %w = xf.param @k[%layer] : tensor<2x2xf32>
    %t = xf.rearrange %w "a b -> b a" {} : tensor<2x2xf32> -> tensor<2x2xf32>
    %c = xf.concat(%w, %t) axis 0 : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
    xf.yield %c : tensor<4x2xf32>
  }
  xf.weight @third : tensor<2x2xf32> layers 2 {
  ^bb0(%layer: index):
    %w = xf.param @k[%layer] : tensor<2x2xf32>
    %s = xf.map(%w) maps [[0, 1]] : (tensor<2x2xf32>) -> tensor<2x2xf32> {
    ^bb0(%a: f32):
      %three = arith.constant 3.0 : f32
      %one = arith.constant 1.0 : f32
      %u = arith.divf %one, %three : f32
      %v = arith.mulf %a, %u : f32
      xf.yield %v : f32
    }
    xf.yield %s : tensor<2x2xf32>
  })";

TEST_F(KernelOpsTest, WeightsAreComputedForALayer) {
  parameters.values = {{"k.0", {1, 2, 3, 4}}, {"k.1", {5, 6, 7, 0.1f}}};
  load(weights);
  auto weight = [&](const char *name, int64_t layer, size_t n) {
    std::vector<float> out(n);
    if (llvm::Error error = evaluateWeight(module->lookupSymbol<mlir::xf::WeightOp>(name), layer, parameters, out))
      ADD_FAILURE() << llvm::toString(std::move(error));
    return out;
  };
  EXPECT_EQ(weight("kk", 1, 8), (std::vector<float>{5, 6, 7, 0.1f, 5, 7, 6, 0.1f}));
  // In f64, rounded once: (1/3 in f32) * 7 would give another value.
  EXPECT_EQ(weight("third", 1, 4)[2], static_cast<float>(7 * (1.0 / 3)));
  std::vector<float> out(4);
  std::string error = llvm::toString(evaluateWeight(module->lookupSymbol<mlir::xf::WeightOp>("third"), 2, parameters, out));
  EXPECT_HAS(error, "layer 2 of @third is not below 2");
}

TEST_F(KernelOpsTest, EntriesUseWeights) {
  parameters.values = {{"k.0", {1, 2, 3, 4}}, {"k.1", {5, 6, 7, 8}}};
  loadEntry(R"(%x: tensor<1x2xf32> {xf.name = "x"})", R"(tensor<1x4xf32> {xf.name = "y"})",
            R"(%one = arith.constant 1 : index
               %w = xf.param @kk[%one] : tensor<4x2xf32>
               %y = xf.linear %x, %w : tensor<1x2xf32>, tensor<4x2xf32> -> tensor<1x4xf32>
               xf.return %y : tensor<1x4xf32>)",
            weights);
  for (Precision precision : {Precision::F32, Precision::F64})
    expectNear(run({{"x", floats({1, 2}, {1, 10})}}, precision)["y"], {65, 87, 75, 86});
}

} // namespace
