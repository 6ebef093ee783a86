// Kernel ops, which must mean what their model ops do.
#include "compiler/Reference/WeightRows.h"
#include "compiler/Target/Link/RowResults.h"
#include "test/Reference/Fixture.h"

#include "llvm/ADT/bit.h"

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

/// A matrix of 9 rows, by layer, from two parameters and a part of a third, and what weights make of it.
const char *matrix = R"(
  xf.parameter @a : tensor<4x5xf32> path "a.{0}" counts [2]
  xf.parameter @b : tensor<7x5xf32> path "b"
  xf.weight @rows : tensor<9x5xf32> layers 2 layout panels {
  ^bb0(%layer: index):
    EXPRESSION
    xf.yield %x : tensor<9x5xf32>
  }
  xf.weight @column : tensor<9x1xf32> layers 2 {
  ^bb0(%layer: index):
    EXPRESSION
    %q:3 = xf.quantize %x : tensor<9x5xf32> -> tensor<9x5xi8>, tensor<9xf32>, tensor<9xi32>
    %s = xf.rearrange %q#1 "n -> n 1" {} : tensor<9xf32> -> tensor<9x1xf32>
    xf.yield %s : tensor<9x1xf32>
  }
  xf.weight @other : tensor<5x9xf32> layers 2 layout panels {
  ^bb0(%layer: index):
    EXPRESSION
    %t = xf.rearrange %x "a b -> b a" {} : tensor<9x5xf32> -> tensor<5x9xf32>
    xf.yield %t : tensor<5x9xf32>
  }
)";
const char *expression = R"(
    %a = xf.param @a[%layer] : tensor<4x5xf32>
    %b = xf.param @b : tensor<7x5xf32>
    %c = xf.slice %b axis 0 start 2 step 1 : tensor<7x5xf32> -> tensor<4x5xf32>
    %d = xf.slice %b axis 0 start 6 step 1 : tensor<7x5xf32> -> tensor<1x5xf32>
    %x = xf.concat(%a, %d, %c) axis 0 : (tensor<4x5xf32>, tensor<1x5xf32>, tensor<4x5xf32>) -> tensor<9x5xf32>)";

/// What packing makes of some rows of a quantised matrix of nine; the mean is that of all of them, in which the part's elements are chosen.
std::vector<float> quantised(const WeightRows &weight, int64_t layer, int64_t first, llvm::ArrayRef<float> rows,
                             llvm::function_ref<void(llvm::MutableArrayRef<float>)> readAll) {
  RowResults results(weight.quantize, 2);
  std::vector<float> elements, all(9 * 5);
  if (weight.result > 0)
    results.keep(weight.result);
  results.quantize(rows, layer, first, elements);
  if (weight.result == 0)
    return elements;
  readAll(all);
  results.addToMean(all, layer);
  return results.get(weight.result, layer).slice(first, rows.size() / 5).vec();
}

TEST_F(KernelOpsTest, RowsOfWeightsAreThoseOfTheWhole) {
  auto numbers = [](size_t count, float step) {
    std::vector<float> values(count);
    for (size_t i = 0; i < count; ++i)
      values[i] = std::sin(step * static_cast<float>(i + 1)) * (i % 5 ? 1.0f : 300.0f);
    return values;
  };
  parameters.values = {{"a.0", numbers(20, 0.7f)}, {"a.1", numbers(20, 1.3f)}, {"b", numbers(35, 0.9f)}};
  std::fill_n(parameters.values["b"].begin() + 15, 5, 0.0f); // a row without a scale
  std::string text = matrix;
  auto add = [&](llvm::StringRef from, llvm::StringRef types, std::vector<std::string> results) {
    for (size_t i = 0; i < results.size(); ++i)
      text += ("xf.weight @" + from + "." + std::to_string(i) + " : " + results[i] + " layers 2 {\n^bb0(%layer: index):\nEXPRESSION\n" +
               (from == "narrow" ? "" : "%h = xf.quantize %x : tensor<9x5xf32> -> tensor<9x5xbf16>\n") + "%q:" + std::to_string(results.size()) +
               " = xf.quantize " + (from == "narrow" ? "%x : tensor<9x5xf32>" : "%h : tensor<9x5xbf16>") + " -> " + types + "\nxf.yield %q#" +
               std::to_string(i) + " : " + results[i] + "\n}\n")
                  .str();
  };
  std::string row = "tensor<9xf32>";
  std::vector<std::string> bytes{"tensor<9x5xi8>", row, "tensor<9xi32>", row, row, "tensor<5xf32>"},
      words{"tensor<9x5xi16>", row, row, row, "tensor<5xf32>"};
  add("narrow", "tensor<9x5xf16>", {"tensor<9x5xf16>"});
  add("bytes", llvm::join(bytes, ", "), bytes);
  add("words", llvm::join(words, ", "), words);
  for (size_t at; (at = text.find("EXPRESSION")) != std::string::npos;)
    text.replace(at, strlen("EXPRESSION"), expression);
  load(text);
  ASSERT_TRUE(module);
  int compared = 0;
  mlir::SymbolTable symbols(*module);
  for (auto weight : module->getOps<mlir::xf::WeightOp>()) {
    std::string name = weight.getSymName().str();
    std::optional<WeightRows> found = findRows(weight);
    ASSERT_EQ(found.has_value(), name != "other") << name;
    if (!found)
      continue;
    int64_t rows = weight.getTensorType().getDimSize(0), count = weight.getTensorType().getNumElements(), width = count / rows;
    for (int64_t layer = 0; layer < 2; ++layer) {
      std::vector<float> whole(count);
      llvm::cantFail(evaluateWeight(weight, layer, parameters, whole));
      for (int64_t first = 0; first < rows; ++first)
        for (int64_t some = 1; first + some <= rows; ++some, ++compared) {
          std::vector<float> part(some * 5);
          llvm::cantFail(readRows(found->rows, layer, symbols, parameters, first, part));
          if (found->quantize)
            part = quantised(*found, layer, first, part,
                             [&](llvm::MutableArrayRef<float> all) { llvm::cantFail(readRows(found->rows, layer, symbols, parameters, 0, all)); });
          for (int64_t i = 0; i < some * width; ++i)
            ASSERT_EQ(llvm::bit_cast<uint32_t>(part[i]), llvm::bit_cast<uint32_t>(whole[first * width + i]))
                << name << ", layer " << layer << ", " << i << " from row " << first;
        }
    }
  }
  EXPECT_EQ(compared, 2 * (12 * 45 + 2 * 15));
}

} // namespace
