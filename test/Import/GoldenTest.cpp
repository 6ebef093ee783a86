// The comparison with golden numbers, on an engine that computes in C++.
#include "compiler/Import/Golden.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace xf;

namespace {

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

/// encode: memory = 2 src; decode: logits = memory + tgt; listed in the opposite order.
struct Twice : Engine {
  std::vector<std::string> calls;
  std::vector<Entry> entries() override {
    using K = Tensor::Kind;
    return {{"decode", {{"memory", K::Float, 1}, {"tgt", K::Int, 1}}, {{"logits", K::Float, 1}}},
            {"encode", {{"src", K::Int, 1}}, {{"memory", K::Float, 1}}}};
  }
  llvm::Expected<TensorMap> run(llvm::StringRef entry, const TensorMap &inputs) override {
    calls.push_back(entry.str());
    Tensor result = Tensor::ofFloats({2}, {0, 0});
    for (int i = 0; i < 2; ++i)
      result.floats[i] = entry == "encode" ? 2.0 * inputs.at("src").ints[i] : inputs.at("memory").floats[i] + inputs.at("tgt").ints[i];
    return TensorMap{{entry == "encode" ? "memory" : "logits", result}};
  }
  llvm::Expected<Tensor> greedy(const TensorMap &inputs, int64_t rows, int64_t length) override {
    return Tensor::ofInts({rows, length}, std::vector<int64_t>(rows * length, inputs.at("src").ints[0]));
  }
};

Tensor ints(std::vector<int64_t> v) { return Tensor::ofInts({int64_t(v.size())}, v); }
Tensor floats(std::vector<double> v) { return Tensor::ofFloats({int64_t(v.size())}, v); }

TEST(Golden, RunsEntriesAsDataComes) {
  Twice engine;
  auto report = runGolden(engine, TensorMap{{"in.src", ints({1, 2})},
                                            {"in.tgt", ints({10, 20})},
                                            {"out.memory", floats({2, 4})},
                                            {"out.logits", floats({12, 24})},
                                            {"out.greedy", Tensor::ofInts({1, 2}, {1, 1})}});
  ASSERT_TRUE(bool(report));
  EXPECT_TRUE(report->passed()) << report->format();
  EXPECT_EQ(engine.calls, (std::vector<std::string>{"encode", "decode"}));
  EXPECT_EQ(report->tensors.size(), 3u);
}

TEST(Golden, GivenInputsWin) {
  Twice engine;
  auto report = runGolden(engine, TensorMap{{"in.src", ints({1, 2})},
                                            {"in.memory", floats({100, 100})},
                                            {"in.tgt", ints({1, 1})},
                                            {"out.memory", floats({2, 4})},
                                            {"out.logits", floats({101, 101})}});
  ASSERT_TRUE(bool(report));
  EXPECT_TRUE(report->passed()) << report->format();
}

TEST(Golden, LendsInputsAndCopiesNone) {
  /// Both entries take x, of another rank.
  struct Sees : Engine {
    std::map<std::string, const double *> seen;
    std::vector<Entry> entries() override {
      using K = Tensor::Kind;
      return {{"last", {{"x", K::Float, 3}, {"mask", K::Bool, 1}, {"y", K::Float, 1}}, {{"z", K::Float, 1}}},
              {"first", {{"x", K::Float, 2}}, {{"y", K::Float, 1}}}};
    }
    llvm::Expected<TensorMap> run(llvm::StringRef entry, const TensorMap &inputs) override {
      seen[entry.str()] = inputs.at("x").floats.data();
      EXPECT_EQ(inputs.at("x").shape, (entry == "first" ? std::vector<int64_t>{1, 2} : std::vector<int64_t>{1, 1, 2}));
      if (entry == "last") {
        EXPECT_EQ(inputs.at("mask").ints, (std::vector<int64_t>{1, 0}));
        EXPECT_EQ(inputs.at("y").floats, (std::vector<double>{5}));
      }
      return TensorMap{{entry == "first" ? "y" : "z", floats({5})}};
    }
    llvm::Expected<Tensor> greedy(const TensorMap &, int64_t, int64_t) override { return Tensor(); }
  } engine;
  TensorMap given{{"x", floats({1, 2})}, {"mask", floats({3, 0})}}, results;
  const double *x = given["x"].floats.data();
  auto take = [&](const Engine::Entry &, const std::string &name, Tensor result) { results[name] = std::move(result); };
  EXPECT_EQ(llvm::cantFail(runEntries(engine, given, "", take)), 2);
  EXPECT_EQ(engine.seen, (std::map<std::string, const double *>{{"first", x}, {"last", x}}));
  EXPECT_EQ(results["y"].floats, results["z"].floats);
  EXPECT_EQ(given["x"].floats.data(), x);
  EXPECT_EQ(given["x"].shape, (std::vector<int64_t>{2}));
  EXPECT_EQ(given["mask"].floats, (std::vector<double>{3, 0}));
}

TEST(Golden, LeadingDimensionsMayBeLeftOut) {
  /// y = x, of rank 3.
  struct Same : Engine {
    std::vector<Entry> entries() override { return {{"apply", {{"x", Tensor::Kind::Float, 3}}, {{"y", Tensor::Kind::Float, 3}}}}; }
    llvm::Expected<TensorMap> run(llvm::StringRef, const TensorMap &inputs) override {
      EXPECT_EQ(inputs.at("x").shape.size(), 3u);
      return TensorMap{{"y", inputs.at("x")}};
    }
    llvm::Expected<Tensor> greedy(const TensorMap &, int64_t, int64_t) override { return Tensor::ofInts({0}, {}); }
  } engine;
  for (std::vector<int64_t> shape : {std::vector<int64_t>{2}, {1, 2}, {1, 1, 2}}) {
    Tensor x = Tensor::ofFloats(shape, {1, 2});
    auto report = runGolden(engine, TensorMap{{"in.x", x}, {"out.y", x}});
    ASSERT_TRUE(bool(report));
    EXPECT_TRUE(report->passed()) << report->format();
  }
  auto report = runGolden(engine, TensorMap{{"in.x", Tensor::ofFloats({1, 1, 2}, {1, 2})}, {"out.y", floats({1, 2})}});
  ASSERT_TRUE(bool(report));
  EXPECT_FALSE(report->passed()) << "a result that nothing was left out of keeps its shape";
  EXPECT_FALSE(bool(runGolden(engine, TensorMap{{"in.x", Tensor::ofFloats({1, 1, 1, 1}, {1})}})));
}

TEST(Golden, EverythingMustBeUsed) {
  Twice engine;
  auto report = runGolden(
      engine,
      TensorMap{
          {"in.src", ints({1, 2})}, {"in.other", ints({1})}, {"out.memory", floats({2, 4})}, {"out.logits", floats({1, 1})}, {"stray", ints({1})}});
  ASSERT_TRUE(bool(report));
  EXPECT_FALSE(report->passed());
  EXPECT_HAS(report->format(), "in.other is not an input");
  EXPECT_HAS(report->format(), "out.logits is not produced");
  EXPECT_HAS(report->format(), "'stray' is neither");
}

TEST(Golden, NothingToCompareIsNoSuccess) {
  Twice engine;
  auto report = runGolden(engine, TensorMap{{"in.src", ints({1, 2})}});
  ASSERT_TRUE(bool(report));
  EXPECT_FALSE(report->passed());
  EXPECT_HAS(report->format(), "there is no out.NAME to compare with");
}

TEST(Golden, WrongInputsAreErrors) {
  Twice engine;
  auto rank = runGolden(engine, TensorMap{{"in.src", Tensor::ofInts({1, 2}, {1, 2})}});
  ASSERT_FALSE(bool(rank));
  EXPECT_HAS(llvm::toString(rank.takeError()), "input 'src' has shape [1, 2], but needs 1 dimensions");
  auto type = runGolden(engine, TensorMap{{"in.src", floats({1, 2})}});
  ASSERT_FALSE(bool(type));
  EXPECT_HAS(llvm::toString(type.takeError()), "input 'src' holds floats, but needs integers");
}

TEST(Golden, ComparesNormWise) {
  GoldenOptions options;
  GoldenResult close = compareTensors("x", floats({3, 4.00001}), floats({3, 4}), options);
  EXPECT_EQ(close.problem, "");
  EXPECT_NEAR(close.maxError, 1e-5, 1e-9);
  EXPECT_NEAR(close.relativeError, 2e-6, 1e-9);
  EXPECT_HAS(compareTensors("x", floats({3, 4.001}), floats({3, 4}), options).problem, "tolerance");
  EXPECT_EQ(compareTensors("x", floats({0, 0}), floats({0, 0}), options).problem, "");
  EXPECT_HAS(compareTensors("x", floats({0, 1}), floats({0, 0}), options).problem, "tolerance");
}

TEST(Golden, NonFiniteValuesMustAgree) {
  GoldenOptions options;
  EXPECT_EQ(compareTensors("x", floats({NAN, 1, INFINITY}), floats({NAN, 1, INFINITY}), options).problem, "");
  EXPECT_HAS(compareTensors("x", floats({NAN, 1}), floats({1, 1}), options).problem, "element 0 is nan, but 1");
  EXPECT_HAS(compareTensors("x", floats({1, 1}), floats({1, NAN}), options).problem, "element 1 is 1, but nan");
  EXPECT_HAS(compareTensors("x", floats({INFINITY}), floats({-INFINITY}), options).problem, "inf");
}

TEST(Golden, IntegersAndShapesAreExact) {
  GoldenOptions options;
  EXPECT_HAS(compareTensors("x", ints({1, 2}), ints({1, 3}), options).problem, "element 1 is 2, but 3");
  EXPECT_HAS(compareTensors("x", ints({1, 2}), ints({1, 2, 3}), options).problem, "shape [2], but [3]");
}

} // namespace
