// Sentences behind each other: each must get what it gets alone.
#include "test/Reference/Fixture.h"

using namespace xf;

namespace {

/// Of all tokens: sentence 0 is the last one, 1 has no position, 2 the first, and some tokens belong to none.
struct SpansTest : InterpreterTest {
  static constexpr int64_t kTokens = 11, kLongest = 5;
  std::vector<std::pair<int64_t, int64_t>> sentences = {{7, 4}, {3, 0}, {0, 3}};
  Tensor spans = ints({3, 2}, {7, 4, 3, 0, 0, 3});

  static std::string type(const std::string &shape, const std::string &dims, const std::string &element = "f32") {
    return "tensor<" + shape + "x" + element + ", #xf.dims<" + dims + ">>";
  }
  static std::string argument(const std::string &name, const std::string &type) { return "%" + name + ": " + type + " {xf.name = \"" + name + "\"}"; }
  const std::string spansType = type("?x2", R"("B", "")", "i32"), gridType = type("?x?", R"("B", "S")", "i32");
  /// Says how long rows are.
  const Tensor grid = ints({3, kLongest}, std::vector<int64_t>(3 * kLongest, 1));

  /// Of `x`, the positions [first, first + count) along `axis` of the row `row`.
  static Tensor cut(const Tensor &x, int64_t row, unsigned axis, int64_t first, int64_t count) {
    Tensor part = x;
    part.shape[0] = 1;
    part.shape[axis] = count;
    part.floats.clear(), part.ints.clear();
    int64_t inner = 1, outer = 1;
    for (size_t d = axis + 1; d < x.shape.size(); ++d)
      inner *= x.shape[d];
    for (size_t d = 1; d < axis; ++d)
      outer *= x.shape[d];
    for (int64_t o = 0; o < outer; ++o) {
      int64_t from = ((row * outer + o) * x.shape[axis] + first) * inner;
      if (x.kind == Tensor::Kind::Float)
        part.floats.insert(part.floats.end(), x.floats.begin() + from, x.floats.begin() + from + count * inner);
      else
        part.ints.insert(part.ints.end(), x.ints.begin() + from, x.ints.begin() + from + count * inner);
    }
    return part;
  }
  static void expectSame(const Tensor &got, const Tensor &want, const std::string &what) {
    ASSERT_EQ(got.shape, want.shape) << what;
    ASSERT_EQ(got.ints, want.ints) << what;
    for (size_t i = 0; i < want.floats.size(); ++i)
      ASSERT_TRUE(got.floats[i] == want.floats[i] || (std::isnan(got.floats[i]) && std::isnan(want.floats[i])))
          << what << " element " << i << ": " << got.floats[i] << ", not " << want.floats[i];
  }

  struct BadSpans {
    std::vector<int64_t> numbers;
    const char *error;
  };
  /// Runs with spans that no tensor of `kTokens` tokens, or rows of `longest`, can have.
  void expectRefused(const TensorMap &inputs, int64_t longest, State *state = nullptr) {
    std::vector<BadSpans> all = {{{0, 2, -1, 2, 0, 0}, "sentence 1 has 2 positions from -1 on"},
                                 {{0, 2, 3, -2, 0, 0}, "sentence 1 has -2 positions from 3 on"},
                                 {{0, 2, 0, 2, 9, 3}, "sentence 2 has 3 positions from 9 on, of 11 in all"},
                                 {{12, 0, 0, 2, 0, 2}, "sentence 0 has 0 positions from 12 on, of 11 in all"}};
    if (longest)
      all.push_back({{0, longest + 1, 0, 1, 0, 1}, "sentence 0 has 6 positions from 0 on, of 11 in all and 5 at most"});
    for (const BadSpans &bad : all) {
      TensorMap given = inputs;
      given["spans"] = ints({3, 2}, bad.numbers);
      EXPECT_HAS(errorOf(given, state), bad.error);
    }
    TensorMap given = inputs;
    given["spans"] = ints({3, 2}, {11, 0, 9, 2, 0, 5}); // the last that are allowed
    EXPECT_EQ(errorOf(given, state), "");
  }
};

TEST_F(SpansTest, SpreadGivesEachSentenceARow) {
  struct Case {
    const char *layout, *all, *allDims, *rows, *rowDims, *element;
    std::vector<int64_t> shape;
    unsigned axis;
  };
  std::vector<int64_t> heads = {1, 2, kTokens, 4}, plain = {1, kTokens, 3};
  for (const Case &c : {Case{"plain", "1x?x3", R"("", "P", "")", "?x?x3", R"("B", "S", "")", "f32", plain, 1},
                        Case{"plain", "1x?x3", R"("", "P", "")", "?x?x3", R"("B", "S", "")", "i32", plain, 1},
                        Case{"keys", "1x2x?x4", R"("", "", "P", "")", "?x2x?x4", R"("B", "", "S", "")", "f32", heads, 2},
                        Case{"values", "1x2x?x4", R"("", "", "P", "")", "?x2x?x4", R"("B", "", "S", "")", "bf16", heads, 2}}) {
    std::string all = type(c.all, c.allDims, c.element), rows = type(c.rows, c.rowDims, c.element);
    loadEntry(argument("x", all) + ", " + argument("spans", spansType) + ", " + argument("grid", gridType), rows + " {xf.name = \"y\"}",
              std::string("%y = xf.spread ") + c.layout + " %x spans %spans : " + all + ", " + spansType + " -> " + rows +
                  "\nxf.return %y : " + rows);
    Tensor x = count(c.shape);
    if (std::string(c.element) == "i32") {
      std::vector<int64_t> numbers(x.floats.begin(), x.floats.end());
      x = ints(c.shape, numbers);
    }
    TensorMap inputs = {{"x", x}, {"spans", spans}, {"grid", grid}};
    auto results = run(inputs);
    ASSERT_TRUE(results.count("y"));
    for (int64_t b = 0; b < 3; ++b) {
      auto [first, length] = sentences[b];
      std::string what = c.layout + std::string(" sentence ") + std::to_string(b);
      expectSame(cut(results["y"], b, c.axis, 0, length), cut(x, 0, c.axis, first, length), what);
      Tensor rest = cut(results["y"], b, c.axis, length, kLongest - length);
      EXPECT_EQ(rest.floats, std::vector<double>(rest.floats.size())) << what;
      EXPECT_EQ(rest.ints, std::vector<int64_t>(rest.ints.size())) << what;
    }
    expectRefused(inputs, kLongest);
  }
}

TEST_F(SpansTest, StoredSentencesAreAsStoredAlone) {
  std::string all = type("1x2x?x4", R"("", "", "P", "")"), rows = type("?x2x?x4", R"("B", "", "S", "")"), slotsType = type("?", R"("B")", "i32");
  load("xf.state @s : " + rows +
       " layers 2 sentences layout keys\n"
       "xf.entry packed @run(" +
       argument("x", all) + ", " + argument("slots", slotsType) + ", " + argument("spans", spansType) +
       ") {\n"
       "%layer = arith.constant 1 : index\nxf.store %x to @s[%layer] slots %slots spans %spans : " +
       all + ", " + slotsType + ", " + spansType +
       "\nxf.return\n}\n"
       "xf.entry begin @alone(" +
       argument("x", rows) + ", " + argument("slots", slotsType) +
       ") {\n"
       "%layer = arith.constant 1 : index\nxf.store %x to @s[%layer] slots %slots : " +
       rows + ", " + slotsType +
       "\nxf.return\n}\n"
       "xf.entry step @load(" +
       argument("slots", slotsType) + ") -> (" + rows +
       " {xf.name = \"y\"}) {\n"
       "%layer = arith.constant 1 : index\n%y = xf.load @s[%layer] slots %slots : " +
       slotsType + " -> " + rows + "\nxf.return %y : " + rows + "\n}\n");
  Tensor x = count({1, 2, kTokens, 4}), slots = ints({3}, {4, 0, 1}), one = ints({1}, {2});
  State packed, alone;
  // What was there before is longer.
  for (State *state : {&packed, &alone})
    run({{"x", count({2, 2, 5, 4})}, {"slots", ints({2}, {1, 2})}}, Precision::F32, state, "alone");
  run({{"x", x}, {"slots", slots}, {"spans", spans}}, Precision::F32, &packed);
  for (int64_t b : {0, 2}) {
    auto [first, length] = sentences[b];
    run({{"x", cut(x, 0, 2, first, length)}, {"slots", ints({1}, {slots.ints[b]})}}, Precision::F32, &alone, "alone");
  }
  for (std::vector<int64_t> read : {std::vector<int64_t>{4}, {1}, {2}, {4, 1}, {1, 4, 2}}) {
    Tensor numbers = ints({static_cast<int64_t>(read.size())}, read);
    expectSame(run({{"slots", numbers}}, Precision::F32, &packed, "load")["y"], run({{"slots", numbers}}, Precision::F32, &alone, "load")["y"],
               "slot " + std::to_string(read[0]));
  }
  EXPECT_EQ(run({{"slots", ints({1}, {0})}}, Precision::F32, &packed, "load")["y"].shape, (std::vector<int64_t>{1, 2, 0, 4}));
  expectRefused({{"x", x}, {"slots", slots}}, 0, &packed);
}

/// Queries of all tokens; keys and values are NaN behind a sentence's end.
struct SpansAttendTest : SpansTest {
  struct Region {
    const char *mask, *bias;
  };

  static std::string region(const char *kind, const char *text) {
    return *text ? std::string(kind) + " {\n^bb0(%b: index, %h: index, %i: index, %j: index):\n" + text + "\n}\n" : "";
  }
  /// Entries @run, with spans, and @alone, without.
  void loadAttend(const Region &regions, const std::string &fill, const std::string &element, const std::string &result) {
    std::string q = type("1x4x?x2", R"("", "", "P", "")", element), all = type("1x4x?x3", R"("", "", "P", "")", result);
    std::string k = type("?x2x?x2", R"("B", "", "S", "")", element), v = type("?x2x?x3", R"("B", "", "S", "")", element);
    std::string ownQ = type("?x4x?x2", R"("B", "", "S", "")", element), own = type("?x4x?x3", R"("B", "", "S", "")", result);
    std::string rest = argument("k", k) + ", " + argument("v", v) + ", " + argument("t", gridType) + ", " +
                       argument("a", type("?x?x?", R"("B", "S", "S")"));
    std::string text = " scale 0.7 fill " + fill + " " + region("mask", regions.mask) + region("bias", regions.bias) + " : ";
    load("xf.entry packed @run(" + argument("q", q) + ", " + rest + ", " + argument("spans", spansType) + ") -> (" + all +
         " {xf.name = \"c\"}) {\n"
         "%c = xf.attend %q, %k, %v spans %spans" +
         text + q + ", " + k + ", " + v + ", " + spansType + " -> (" + all + ")\nxf.return %c : " + all +
         "\n}\n"
         "xf.entry full @alone(" +
         argument("q", ownQ) + ", " + rest + ") -> (" + own +
         " {xf.name = \"c\"}) {\n"
         "%c = xf.attend %q, %k, %v" +
         text + ownQ + ", " + k + ", " + v + " -> (" + own + ")\nxf.return %c : " + own + "\n}\n");
  }
  /// Small numbers that bf16 has, too.
  Tensor numbers(std::vector<int64_t> shape, int step) {
    Tensor x = count(shape);
    for (double &value : x.floats)
      value = (int64_t(value) * step % 31 - 15) / 8.0;
    return x;
  }
  TensorMap inputs() {
    TensorMap all = {{"q", numbers({1, 4, kTokens, 2}, 7)},
                     {"k", numbers({3, 2, kLongest, 2}, 11)},
                     {"v", numbers({3, 2, kLongest, 3}, 13)},
                     {"a", numbers({3, kLongest, kLongest}, 5)},
                     {"spans", spans}};
    // Sentence 2 has a first token that is padding, too.
    Tensor tokens = ints({3, kLongest}, {5, 6, 0, 8, 9, 1, 1, 1, 1, 1, 0, 3, 4, 5, 6});
    for (int64_t b = 0; b < 3; ++b)
      for (int64_t g = 0; g < 2; ++g)
        for (int64_t j = sentences[b].second; j < kLongest; ++j)
          for (const char *name : {"k", "v"})
            std::fill_n(all[name].floats.begin() + ((b * 2 + g) * kLongest + j) * all[name].shape[3], all[name].shape[3], NAN);
    all["t"] = tokens;
    return all;
  }
};

const char *causal = "%ok = arith.cmpi sle, %j, %i : index\nxf.yield %ok : i1";
const char *padding = "%zero = arith.constant 0 : i32\n%id = xf.at %t[%b, %j] : tensor<?x?xi32, #xf.dims<\"B\", \"S\">>\n"
                      "%ok = arith.cmpi ne, %id, %zero : i32\nxf.yield %ok : i1";
const char *both = "%zero = arith.constant 0 : i32\n%id = xf.at %t[%b, %j] : tensor<?x?xi32, #xf.dims<\"B\", \"S\">>\n"
                   "%used = arith.cmpi ne, %id, %zero : i32\n%past = arith.cmpi sle, %j, %i : index\n"
                   "%ok = arith.andi %used, %past : i1\nxf.yield %ok : i1";
const char *additive = "%s = xf.at %a[%b, %i, %j] : tensor<?x?x?xf32, #xf.dims<\"B\", \"S\", \"S\">>\nxf.yield %s : f32";

TEST_F(SpansAttendTest, EqualsEachSentenceAlone) {
  struct Factors {
    const char *element, *result;
  };
  TensorMap all = inputs();
  for (const Region &regions :
       {Region{"", ""}, Region{causal, ""}, Region{padding, ""}, Region{both, ""}, Region{"", additive}, Region{both, additive}})
    for (const char *fill : {"-1.0e9", "0xFFF0000000000000", "-2.5"})
      for (const Factors &factors : {Factors{"f32", "f32"}, Factors{"bf16", "f32"}, Factors{"bf16", "bf16"}})
        for (Precision precision : {Precision::F32, Precision::F64}) {
          loadAttend(regions, fill, factors.element, factors.result);
          auto results = run(all, precision);
          ASSERT_TRUE(results.count("c"));
          std::vector<bool> belongs(kTokens);
          for (int64_t b : {0, 2}) {
            auto [first, length] = sentences[b];
            std::fill_n(belongs.begin() + first, length, true);
            Tensor bias = cut(cut(all["a"], b, 1, 0, length), 0, 2, 0, length);
            auto alone = run({{"q", cut(all["q"], 0, 2, first, length)},
                              {"k", cut(all["k"], b, 2, 0, length)},
                              {"v", cut(all["v"], b, 2, 0, length)},
                              {"t", cut(all["t"], b, 1, 0, length)},
                              {"a", bias}},
                             precision, nullptr, "alone");
            expectSame(cut(results["c"], 0, 2, first, length), alone["c"],
                       std::string(factors.element) + " fill " + fill + " mask " + regions.mask + " bias " + regions.bias + " sentence " +
                           std::to_string(b));
          }
          for (int64_t p = 0; p < kTokens; ++p)
            if (Tensor none = cut(results["c"], 0, 2, p, 1); !belongs[p])
              EXPECT_EQ(none.floats, std::vector<double>(none.floats.size())) << "position " << p << " of no sentence";
        }
}

TEST_F(SpansAttendTest, SpansOutsideAreAnError) {
  loadAttend({"", ""}, "-1.0e9", "f32", "f32");
  TensorMap all = inputs();
  all.erase("spans");
  expectRefused(all, kLongest);
}

} // namespace
