// Weights that are packed some rows at a time, against the interpreter, which makes them as a whole.
#include "compiler/Reference/WeightRows.h"
#include "compiler/Target/Link/RowResults.h"
#include "test/Reference/Fixture.h"

#include "llvm/ADT/bit.h"

using namespace xf;

namespace {

using WeightRowsTest = InterpreterTest;

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

TEST_F(WeightRowsTest, RowsAreThoseOfTheWhole) {
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
