// State: a step must continue what earlier calls left.
#include "test/Reference/Fixture.h"

using namespace xf;

namespace {

using StateOpsTest = InterpreterTest;

TEST_F(StateOpsTest, AppendRaggedRows) {
  loadEntry(R"(%x: tensor<?x?x1xf32, #xf.dims<"B", "N", "">> {xf.name = "x"}, %past: tensor<?xi32, #xf.dims<"B">> {xf.name = "past"})",
            R"(tensor<?x?x1xf32, #xf.dims<"B", "T", "">> {xf.name = "all"}, tensor<?x?xi32, #xf.dims<"B", "N">> {xf.name = "positions"})",
            R"(%layer = arith.constant 0 : index
               %all = xf.append %x to @s[%layer] axis 1 past %past : tensor<?x?x1xf32, #xf.dims<"B", "N", "">>, tensor<?xi32, #xf.dims<"B">> -> tensor<?x?x1xf32, #xf.dims<"B", "T", "">>
               %p = xf.positions from %past : tensor<?xi32, #xf.dims<"B">> -> tensor<?x?xi32, #xf.dims<"B", "N">> {offset = 1 : i64}
               xf.return %all, %p : tensor<?x?x1xf32, #xf.dims<"B", "T", "">>, tensor<?x?xi32, #xf.dims<"B", "N">>)",
            R"(xf.state @s : tensor<?x?x1xf32, #xf.dims<"B", "T", "">> layers 1)");
  State state;
  expectNear(run({{"x", count({2, 2, 1})}, {"past", ints({2}, {0, 0})}}, Precision::F64, &state)["all"], {1, 2, 3, 4});
  auto second = run({{"x", floats({2, 1, 1}, {8, 9})}, {"past", ints({2}, {2, 1})}}, Precision::F64, &state);
  EXPECT_EQ(second["all"].shape, (std::vector<int64_t>{2, 3, 1}));
  EXPECT_EQ(second["all"].floats[2], 8);
  EXPECT_EQ(second["all"].floats[4], 9);
  EXPECT_EQ(second["positions"].ints, (std::vector<int64_t>{3, 2}));
  auto third = run({{"x", floats({2, 1, 1}, {5, 6})}, {"past", ints({2}, {2, 2})}}, Precision::F32, &state);
  expectNear(third["all"], {1, 2, 5, 3, 9, 6});
  EXPECT_HAS(errorOf({{"x", count({2, 2, 1})}, {"past", ints({2}, {0, 0})}}), "needs a state");
}

TEST_F(StateOpsTest, StoreAndLoadSentences) {
  load(R"(
    xf.state @s : tensor<?x?xf32, #xf.dims<"B", "S">> layers 2 sentences
    xf.entry begin @begin(%x: tensor<?x?xf32, #xf.dims<"B", "S">> {xf.name = "x"}, %slots: tensor<?xi32, #xf.dims<"B">> {xf.name = "slots"}) {
      %layer = arith.constant 1 : index
      xf.store %x to @s[%layer] slots %slots : tensor<?x?xf32, #xf.dims<"B", "S">>, tensor<?xi32, #xf.dims<"B">>
      xf.return
    }
    xf.entry step @step(%slots: tensor<?xi32, #xf.dims<"B">> {xf.name = "slots"}) -> (tensor<?x?xf32, #xf.dims<"B", "S">> {xf.name = "y"}) {
      %layer = arith.constant 1 : index
      %y = xf.load @s[%layer] slots %slots : tensor<?xi32, #xf.dims<"B">> -> tensor<?x?xf32, #xf.dims<"B", "S">>
      xf.return %y : tensor<?x?xf32, #xf.dims<"B", "S">>
    })");
  State state;
  run({{"x", floats({2, 2}, {1, 2, 3, 4})}, {"slots", ints({2}, {2, 0})}}, Precision::F64, &state, "begin");
  run({{"x", floats({1, 3}, {7, 8, 9})}, {"slots", ints({1}, {1})}}, Precision::F64, &state, "begin");
  expectNear(run({{"slots", ints({3}, {0, 2, 2})}}, Precision::F64, &state, "step")["y"], {3, 4, 1, 2, 1, 2});
  expectNear(run({{"slots", ints({2}, {1, 0})}}, Precision::F64, &state, "step")["y"], {7, 8, 9, 3, 4, 0});
}

TEST_F(StateOpsTest, ScanStepEqualsScan) {
  std::string body = R"({
               ^bb0(%s: f32, %a: f32):
                 %h = arith.constant 0.5 : f32
                 %d = arith.mulf %s, %h : f32
                 %q = arith.addf %d, %a : f32
                 xf.yield %q, %q : f32, f32
               })";
  std::string type = R"(tensor<?x?x2xf32, #xf.dims<"B", "N", "">>)", past = R"(tensor<?xi32, #xf.dims<"B">>)";
  loadEntry("%x: " + type + " {xf.name = \"x\"}, %past: " + past + " {xf.name = \"past\"}",
            type + " {xf.name = \"whole\"}, " + type + " {xf.name = \"step\"}",
            "%layer = arith.constant 0 : index\n%w = xf.scan(%x) axis 1 init [1.0] : (" + type + ") -> " + type + " " + body +
                "\n%p = xf.scan_step(%x) states [@s][%layer] past %past axis 1 init [1.0] : (" + type + "), " + past + " -> " + type + " " + body +
                "\nxf.return %w, %p : " + type + ", " + type,
            R"(xf.state @s : tensor<?x2xf32, #xf.dims<"B", "">> layers 1)");
  State state;
  Tensor x = count({2, 4, 2});
  auto all = run({{"x", x}, {"past", ints({2}, {0, 0})}}, Precision::F64, &state);
  EXPECT_EQ(all["whole"].floats, all["step"].floats);
  // The same in two calls: positions 0..2, then 3.
  auto part = [&](int from, int to) {
    Tensor t = floats({2, to - from, 2}, {});
    for (int b = 0; b < 2; ++b)
      t.floats.insert(t.floats.end(), x.floats.begin() + (b * 4 + from) * 2, x.floats.begin() + (b * 4 + to) * 2);
    return t;
  };
  run({{"x", part(0, 3)}, {"past", ints({2}, {0, 0})}}, Precision::F64, &state);
  auto last = run({{"x", part(3, 4)}, {"past", ints({2}, {3, 3})}}, Precision::F64, &state);
  for (int b = 0; b < 2; ++b)
    for (int e = 0; e < 2; ++e)
      EXPECT_EQ(last["step"].floats[b * 2 + e], all["whole"].floats[(b * 4 + 3) * 2 + e]);
}

} // namespace
