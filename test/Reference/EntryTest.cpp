// Entries: inputs, dimensions, greedy search, and a whole small model with its messages.
#include "compiler/Reference/ReferenceEngine.h"
#include "test/Reference/Fixture.h"

using namespace xf;

namespace {

using EntryTest = InterpreterTest;

const char *sum = R"(
  xf.entry @run(%x: tensor<?x2xf32, #xf.dims<"B", "">> {xf.name = "x"}, %y: tensor<?x2xf32, #xf.dims<"B", "">> {xf.name = "y"})
      -> (tensor<?x2xf32, #xf.dims<"B", "">> {xf.name = "sum"}) {
    %s = xf.map(%x, %y) maps [[0, 1], [0, 1]] : (tensor<?x2xf32, #xf.dims<"B", "">>, tensor<?x2xf32, #xf.dims<"B", "">>) -> tensor<?x2xf32, #xf.dims<"B", "">> {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      xf.yield %c : f32
    }
    xf.return %s : tensor<?x2xf32, #xf.dims<"B", "">>
  })";

TEST_F(EntryTest, InputsAreChecked) {
  load(sum);
  EXPECT_EQ(errorOf({{"x", count({3, 2})}, {"y", count({3, 2})}}), "");
  EXPECT_EQ(errorOf({{"x", count({0, 2})}, {"y", count({0, 2})}}), "");
  EXPECT_HAS(errorOf({{"x", count({3, 2})}}), "entry 'run' lacks its input 'y'");
  EXPECT_HAS(errorOf({{"x", count({3, 2})}, {"y", count({4, 2})}}), "dimension B is 3 in input 'x', but 4 in input 'y'");
  EXPECT_HAS(errorOf({{"x", count({3, 3})}, {"y", count({3, 2})}}), "input 'x' has shape [3, 3], but the entry takes [B, 2]");
  EXPECT_HAS(errorOf({{"x", count({6})}, {"y", count({3, 2})}}), "input 'x' has shape [6]");
  EXPECT_HAS(errorOf({{"x", ints({1, 2}, {1, 2})}, {"y", count({1, 2})}}), "input 'x' must be floats");
  Interpreter interpreter(*module, parameters, Precision::F64);
  auto none = interpreter.run("walk", {});
  ASSERT_FALSE(bool(none));
  EXPECT_HAS(llvm::toString(none.takeError()), "no entry 'walk'");
}

TEST_F(EntryTest, MessagesSayWhere) {
  load(R"(
    xf.parameter @w : tensor<2xf32> path "w"
    xf.entry @run() -> (tensor<2xf32> {xf.name = "w"}) {
      %w = xf.param @w : tensor<2xf32>
      xf.return %w : tensor<2xf32>
    })");
  EXPECT_HAS(errorOf({}), "entry 'run': ");
  EXPECT_HAS(errorOf({}), ":4:12: xf.param: no values for 'w'");
}

// The logits of a token are a row of @next: 0 -> 1, 1 -> 2 and 3 alike, 2 -> 3 (the end), 3 -> 0.
std::string automaton(bool sequenceFirst) {
  std::string dims = sequenceFirst ? R"("T", "B")" : R"("B", "T")";
  return R"(module attributes {xf.generate = {decode = @decode, tokens = "tgt", logits = "logits", start = 1 : i64, end = 3 : i64, pad = 0 : i64)" +
         std::string(sequenceFirst ? ", sequence_first" : "") + R"(}} {
    xf.parameter @next : tensor<4x4xf32> path "next"
    xf.entry @decode(%t: tensor<?x?xi32, #xf.dims<)" +
         dims + R"(>> {xf.name = "tgt"}) -> (tensor<?x?x4xf32, #xf.dims<)" + dims + R"(, "">> {xf.name = "logits"}) {
      %n = xf.param @next : tensor<4x4xf32>
      %l = xf.embed %n, %t : tensor<4x4xf32>, tensor<?x?xi32, #xf.dims<)" +
         dims + R"(>> -> tensor<?x?x4xf32, #xf.dims<)" + dims + R"(, "">>
      xf.return %l : tensor<?x?x4xf32, #xf.dims<)" +
         dims + R"(, "">>
    }
  })";
}

TEST_F(EntryTest, Greedy) {
  parameters.values = {{"next", {0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0}}};
  for (bool sequenceFirst : {false, true}) {
    load(automaton(sequenceFirst));
    Interpreter interpreter(*module, parameters, Precision::F32);
    auto tokens = interpreter.greedy({}, 2, 5);
    ASSERT_TRUE(bool(tokens)) << llvm::toString(tokens.takeError());
    EXPECT_EQ(tokens->shape, (std::vector<int64_t>{2, 5}));
    EXPECT_EQ(tokens->ints, (std::vector<int64_t>{1, 2, 3, 0, 0, 1, 2, 3, 0, 0}));
  }
}

TEST_F(EntryTest, GoldenThroughTheEngine) {
  parameters.values = {{"next", {0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0}}};
  load(automaton(false));
  ReferenceEngine engine(*module, parameters, Precision::F64);
  auto report = runGolden(
      engine,
      {{"in.tgt", ints({1, 2}, {1, 2})}, {"out.logits", floats({1, 2, 4}, {0, 0, 1, 1, 0, 0, 0, 1})}, {"out.greedy", ints({1, 4}, {1, 2, 3, 0})}});
  ASSERT_TRUE(bool(report)) << llvm::toString(report.takeError());
  EXPECT_TRUE(report->passed()) << report->format();
}

} // namespace
