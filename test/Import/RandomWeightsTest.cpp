// Random weights: determined by seed and name alone, of sensible size.
#include "compiler/Import/RandomWeights.h"
#include "test/Import/Modules.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace xf;

namespace {

struct RandomWeightsTest : testing::Test, Modules {
  mlir::OwningOpRef<mlir::ModuleOp> module = parse(R"(
    xf.parameter @w : tensor<64x32xf32> path "l.{0}.weight" counts [2]
    xf.parameter @g : tensor<64xf32> path "norm.weight"
    xf.parameter @b : tensor<64xf32> path "norm.bias"
  )");
  std::vector<float> read(uint64_t seed, const char *name, std::vector<int64_t> indices, size_t n) {
    std::vector<float> out(n);
    RandomWeights source(seed);
    EXPECT_FALSE(bool(source.read(module->lookupSymbol<mlir::xf::ParameterOp>(name), indices, 0, out)));
    return out;
  }
};

TEST_F(RandomWeightsTest, DependOnSeedAndPathOnly) {
  EXPECT_EQ(read(1, "w", {0}, 2048), read(1, "w", {0}, 2048));
  EXPECT_NE(read(1, "w", {0}, 2048), read(1, "w", {1}, 2048));
  EXPECT_NE(read(1, "w", {0}, 2048), read(2, "w", {0}, 2048));
}

TEST_F(RandomWeightsTest, AreTheSameInPieces) {
  std::vector<float> whole = read(1, "w", {1}, 2048), piece(100);
  RandomWeights source(1);
  EXPECT_FALSE(bool(source.read(module->lookupSymbol<mlir::xf::ParameterOp>("w"), {1}, 77, piece)));
  EXPECT_EQ(piece, std::vector<float>(whole.begin() + 77, whole.begin() + 177));
}

TEST_F(RandomWeightsTest, HaveSensibleSizes) {
  double limit = std::sqrt(6.0 / 96), sum = 0;
  for (float v : read(7, "w", {0}, 2048)) {
    EXPECT_LE(std::fabs(v), limit);
    sum += v;
  }
  EXPECT_LT(std::fabs(sum / 2048), 0.02);
  for (float v : read(7, "g", {}, 64))
    EXPECT_NEAR(v, 1, 0.1);
  for (float v : read(7, "b", {}, 64))
    EXPECT_NEAR(v, 0, 0.1);
}

} // namespace
