// The reduction of a row of logits: right, in the order of ties, and to the same bits on every instruction set.
#include "runtime/abi/xf_abi.h"
#include "runtime/core/cpu.h"
#include "runtime/core/row_best.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace {

using namespace xf::rt;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct row {
  row_summary summary;
  std::vector<candidate> best;
};

row reduce(const std::vector<float> &x, int wanted, int isa = 0) {
  row r;
  r.best.resize(wanted);
  r.summary = row_reducer_for(isa)(x.data(), static_cast<int64_t>(x.size()), wanted, r.best.data(), true);
  r.best.resize(r.summary.count);
  return r;
}

TEST(row_best, agrees_with_sorting) {
  std::mt19937 random(1);
  for (int size : {1, 2, 11, 15, 16, 17, 63, 64, 65, 511, 512, 513, 1000, 5000, 32001})
    for (bool ties : {false, true}) {
      std::vector<float> x(size);
      for (float &v : x)
        v = ties ? static_cast<float>(random() % 7) : std::normal_distribution<float>(0, 4)(random);
      std::vector<int> order(size);
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return x[a] > x[b]; });
      long double sum = 0;
      for (float v : x)
        sum += std::exp(static_cast<long double>(v));
      row first;
      for (int isa = 0; isa <= detect_isa().best; ++isa) {
        row got = reduce(x, 8, isa);
        ASSERT_EQ(got.best.size(), std::min<size_t>(8, size));
        for (size_t i = 0; i < got.best.size(); ++i) {
          EXPECT_EQ(got.best[i].token, order[i]);
          EXPECT_EQ(got.best[i].logit, x[order[i]]);
        }
        EXPECT_TRUE(got.summary.finite);
        EXPECT_NEAR(got.summary.normaliser, static_cast<double>(std::log(sum)), 3e-7);
        if (isa == 0)
          first = got;
        EXPECT_EQ(got.summary.normaliser, first.summary.normaliser) << isa_name(isa);
      }
    }
}

TEST(row_best, uses_the_widest_vectors_that_an_instruction_set_has) {
  EXPECT_NE(row_reducer_for(XF_ABI_AVX2), row_reducer_for(XF_ABI_BASELINE));
  EXPECT_EQ(row_reducer_for(XF_ABI_AVX2_VNNI), row_reducer_for(XF_ABI_AVX2));
  EXPECT_NE(row_reducer_for(XF_ABI_AVX512), row_reducer_for(XF_ABI_AVX2));
  EXPECT_EQ(row_reducer_for(XF_ABI_AVX512_VNNI), row_reducer_for(XF_ABI_AVX512));
  EXPECT_EQ(row_reducer_for(XF_ABI_AVX512_BF16), row_reducer_for(XF_ABI_AVX512));
}

TEST(row_best, leaves_out_what_is_suppressed) {
  std::vector<float> x(100, -kInfinity);
  EXPECT_EQ(reduce(x, 4).best.size(), 0u);
  x[70] = 1, x[3] = -1e30f;
  row got = reduce(x, 4);
  ASSERT_EQ(got.best.size(), 2u);
  EXPECT_EQ(got.best[0].token, 70);
  EXPECT_EQ(got.best[1].token, 3);
  EXPECT_NEAR(got.summary.normaliser, 1.0, 1e-7);
  // Whole blocks of columns, in front of the others and behind them.
  for (int at : {0, 700, 1599})
    for (int isa = 0; isa <= detect_isa().best; ++isa) {
      std::vector<float> one(1600, -kInfinity);
      one[at] = 2;
      EXPECT_EQ(reduce(one, 4, isa).summary.normaliser, 2) << at << " " << isa_name(isa);
    }
}

TEST(row_best, notices_what_is_not_a_number) {
  for (float non_finite : {kInfinity, std::nanf("")})
    for (int at : {0, 20, 99}) {
      std::vector<float> x(100, 1.0f);
      x[at] = non_finite;
      for (int isa = 0; isa <= detect_isa().best; ++isa)
        EXPECT_FALSE(reduce(x, 4, isa).summary.finite);
    }
}

TEST(row_best, stands_large_logits) {
  std::vector<float> x(1000, 3e38f);
  x[600] = 3.2e38f;
  row got = reduce(x, 1);
  EXPECT_EQ(got.best[0].token, 600);
  EXPECT_EQ(got.summary.normaliser, static_cast<double>(3.2e38f));
}

} // namespace
