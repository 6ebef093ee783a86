// Attention against a computation in C++, with every kind of mask and bias.
#include "test/Reference/Fixture.h"

using namespace xf;

namespace {

struct AttendTest : InterpreterTest {
  Tensor q = wave({2, 4, 3, 2}, 0.3), k = wave({2, 2, 5, 2}, 0.7), v = wave({2, 2, 5, 3}, 1.1);

  static Tensor wave(std::vector<int64_t> shape, double step) {
    Tensor tensor = count(shape);
    for (double &value : tensor.floats)
      value = std::sin(value * step);
    return tensor;
  }
  /// Entry with q, k, v and what `extra` declares; `regions` stands behind the fill.
  void loadAttend(const char *fill, const std::string &regions, const std::string &extra = "") {
    std::string q = R"(tensor<?x4x?x2xf32, #xf.dims<"B", "", "Q", "">>)", k = R"(tensor<?x2x?x2xf32, #xf.dims<"B", "", "K", "">>)",
                v = R"(tensor<?x2x?x3xf32, #xf.dims<"B", "", "K", "">>)", c = R"(tensor<?x4x?x3xf32, #xf.dims<"B", "", "Q", "">>)",
                p = R"(tensor<?x4x?x?xf32, #xf.dims<"B", "", "Q", "K">>)";
    loadEntry("%q: " + q + " {xf.name = \"q\"}, %k: " + k + " {xf.name = \"k\"}, %v: " + v + " {xf.name = \"v\"}" + extra,
              c + " {xf.name = \"c\"}, " + p + " {xf.name = \"p\"}",
              "%c, %p = xf.attend %q, %k, %v scale 0.5 fill " + std::string(fill) + " " + regions + " : " + q + ", " + k + ", " + v + " -> (" + c +
                  ", " + p + ")\nxf.return %c, %p : " + c + ", " + p);
  }
  void check(
      TensorMap inputs, llvm::function_ref<bool(int, int, int, int)> allowed, llvm::function_ref<double(int, int, int, int)> bias, double fill,
      llvm::function_ref<double(int, int, int, double)> function = [](int, int, int, double s) { return s; }) {
    inputs.emplace("q", q), inputs.emplace("k", k), inputs.emplace("v", v);
    auto results = run(inputs);
    if (results.empty())
      return;
    for (int b = 0; b < 2; ++b)
      for (int h = 0; h < 4; ++h)
        for (int i = 0; i < 3; ++i) {
          double score[5], sum = 0, largest = -INFINITY;
          for (int j = 0; j < 5; ++j) {
            score[j] = 0;
            for (int e = 0; e < 2; ++e)
              score[j] += 0.5 * q.floats[((b * 4 + h) * 3 + i) * 2 + e] * k.floats[((b * 2 + h / 2) * 5 + j) * 2 + e];
            score[j] = function(h, i, j, score[j]) + bias(b, h, i, j);
            score[j] = allowed(b, h, i, j) ? score[j] : fill;
            largest = std::max(largest, score[j]);
          }
          for (double s : score)
            sum += std::exp(s - largest);
          for (int j = 0; j < 5; ++j)
            EXPECT_NEAR(results["p"].floats[((b * 4 + h) * 3 + i) * 5 + j], std::exp(score[j] - largest) / sum, 1e-12);
          for (int e = 0; e < 3; ++e) {
            double want = 0;
            for (int j = 0; j < 5; ++j)
              want += std::exp(score[j] - largest) / sum * v.floats[((b * 2 + h / 2) * 5 + j) * 3 + e];
            EXPECT_NEAR(results["c"].floats[((b * 4 + h) * 3 + i) * 3 + e], want, 1e-12);
          }
        }
  }
};

auto everything = [](int, int, int, int) { return true; };
auto nothing = [](int, int, int, int) { return 0.0; };

const char *causal = R"(mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %ok = arith.cmpi sle, %j, %i : index
    xf.yield %ok : i1
  })";

TEST_F(AttendTest, WithoutMask) {
  loadAttend("0xFFF0000000000000", "");
  check({}, everything, nothing, 0);
}

TEST_F(AttendTest, CausalWithBothFills) {
  loadAttend("0xFFF0000000000000", causal);
  check({}, [](int, int, int i, int j) { return j <= i; }, nothing, -INFINITY);
  loadAttend("-1.0e9", causal);
  check({}, [](int, int, int i, int j) { return j <= i; }, nothing, -1e9);
}

TEST_F(AttendTest, MaskAndBiasReadTensors) {
  loadAttend(
      "-1.0e9", R"(mask {
      ^bb0(%b: index, %h: index, %i: index, %j: index):
        %ok = xf.at %keep[%b, %j] : tensor<?x?xi1, #xf.dims<"B", "K">>
        xf.yield %ok : i1
      } bias {
      ^bb0(%b: index, %h: index, %i: index, %j: index):
        %s = xf.at %slope[%h, %i, %j] : tensor<4x?x?xf32, #xf.dims<"", "Q", "K">>
        xf.yield %s : f32
      })",
      R"(, %keep: tensor<?x?xi1, #xf.dims<"B", "K">> {xf.name = "keep"}, %slope: tensor<4x?x?xf32, #xf.dims<"", "Q", "K">> {xf.name = "slope"})");
  Tensor slope = wave({4, 3, 5}, 0.9), keep = bools({2, 5}, {1, 1, 0, 1, 0, 0, 1, 1, 1, 1});
  check(
      {{"keep", keep}, {"slope", slope}}, [&](int b, int, int, int j) { return keep.ints[b * 5 + j] != 0; },
      [&](int, int h, int i, int j) { return slope.floats[(h * 3 + i) * 5 + j]; }, -1e9);
}

TEST_F(AttendTest, FunctionsOfTheScoreComeBeforeBiasAndMask) {
  loadAttend("-1.0e9", std::string(causal) + R"( bias {
      ^bb0(%b: index, %h: index, %i: index, %j: index):
        %n = arith.index_cast %j : index to i64
        %s = arith.sitofp %n : i64 to f32
        xf.yield %s : f32
      } score {
      ^bb0(%b: index, %h: index, %i: index, %j: index, %s: f32):
        %d = arith.subi %i, %j : index
        %e = arith.addi %d, %h : index
        %n = arith.index_cast %e : index to i64
        %f = arith.sitofp %n : i64 to f32
        %p = arith.mulf %s, %f : f32
        %t = math.tanh %p : f32
        xf.yield %t : f32
      })");
  check(
      {}, [](int, int, int i, int j) { return j <= i; }, [](int, int, int, int j) { return double(j); }, -1e9,
      [](int h, int i, int j, double s) { return std::tanh(s * (i - j + h)); });
}

TEST_F(AttendTest, FullyMaskedRows) {
  const char *never = R"(mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %ok = arith.constant false
      xf.yield %ok : i1
    })";
  for (Precision precision : {Precision::F32, Precision::F64}) {
    loadAttend("-1.0e9", never);
    auto finite = run({{"q", q}, {"k", k}, {"v", v}}, precision);
    for (double p : finite["p"].floats)
      EXPECT_EQ(p, precision == Precision::F32 ? 0.2f : 0.2);
    loadAttend("0xFFF0000000000000", never);
    auto infinite = run({{"q", q}, {"k", k}, {"v", v}}, precision);
    for (const char *result : {"c", "p"})
      for (double x : infinite[result].floats)
        EXPECT_EQ(x, 0);
  }
}

TEST_F(AttendTest, ReadingOutsideIsAnError) {
  loadAttend("-1.0e9", R"(mask {
      ^bb0(%b: index, %h: index, %i: index, %j: index):
        %ok = xf.at %keep[%j] : tensor<3xi1>
        xf.yield %ok : i1
      })",
             R"(, %keep: tensor<3xi1> {xf.name = "keep"})");
  EXPECT_HAS(errorOf({{"q", q}, {"k", k}, {"v", v}, {"keep", bools({3}, {1, 1, 1})}}), "reads outside its tensor");
}

} // namespace
