// Drawing tokens: by the probabilities that the settings leave, with the same bits on every instruction set; and what is done to
// logits before.
#include "runtime/abi/xf_abi.h"
#include "runtime/core/cpu.h"
#include "runtime/core/logit_rules.h"
#include "runtime/core/row_sample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <vector>

namespace {

using namespace xf::rt;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

candidate draw(const std::vector<float> &x, const sampling &params, double uniform, int isa = 0) {
  std::vector<candidate> scratch(x.size());
  return row_sampler_for(isa)(x.data(), static_cast<int64_t>(x.size()), params, uniform, scratch.data());
}

std::vector<float> random_row(unsigned seed, int size, bool ties) {
  std::mt19937 random(seed);
  std::vector<float> x(static_cast<size_t>(size));
  for (float &v : x)
    v = random() % 5 == 0 ? -kInfinity : ties ? static_cast<float>(random() % 7) : std::normal_distribution<float>(0, 4)(random);
  x[static_cast<size_t>(size) / 2] = 3.0f;
  return x;
}

// The tokens that may be drawn, in the order in which their probabilities are added up, and where each one's share ends.
struct share {
  int32_t token;
  double end;
};
std::vector<share> shares(const std::vector<float> &x, const sampling &params) {
  std::vector<int32_t> order(x.size());
  std::iota(order.begin(), order.end(), 0);
  order.erase(std::remove_if(order.begin(), order.end(), [&](int32_t v) { return x[static_cast<size_t>(v)] == -kInfinity; }), order.end());
  bool cuts = (params.top_k > 0 && params.top_k < static_cast<int32_t>(x.size())) || params.top_p < 1.0;
  if (cuts)
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return x[static_cast<size_t>(a)] > x[static_cast<size_t>(b)]; });
  if (params.top_k > 0 && order.size() > static_cast<size_t>(params.top_k))
    order.resize(static_cast<size_t>(params.top_k));
  double top = *std::max_element(x.begin(), x.end()), all = 0;
  auto weight = [&](int32_t v) { return std::exp((x[static_cast<size_t>(v)] - top) / params.temperature); };
  for (int32_t v : order)
    all += weight(v);
  std::vector<share> result;
  double sum = 0;
  for (int32_t v : order) {
    if (weight(v) < params.min_p * (1 - 1e-6))
      continue;
    if (params.top_p < 1.0 && sum >= (params.top_p + 1e-6) * all) // sums are of f32
      break;
    result.push_back({v, sum += weight(v)});
  }
  for (share &s : result)
    s.end /= sum;
  return result;
}

const std::vector<sampling> kSettings = {{1, 0, 1},
                                         {0.7, 0, 1},
                                         {2, 0, 1},
                                         {1, 1, 1},
                                         {1, 5, 1},
                                         {0.5, 40, 1},
                                         {1, 600, 1},
                                         {1, 100000, 1},
                                         {0.01, 0, 1},
                                         {100, 0, 1},
                                         {1, 0, 0.9003},
                                         {1.5, 0, 0.5003},
                                         {1, 0, 0.999999},
                                         {1, 20, 0.8003},
                                         {0.3, 7, 0.3003},
                                         {100, 0, 0.9003},
                                         {100, 3000, 0.7003}, // most of all tokens
                                         {1, 0, 1, 0.1003},
                                         {2, 0, 1, 0.0303},
                                         {1, 0, 1, 1},
                                         {1, 20, 1, 0.2003},
                                         {1, 600, 1, 0.0503},
                                         {1, 0, 0.9003, 0.0503},
                                         {1.5, 0, 0.5003, 1e-9},
                                         {1, 20, 0.8003, 0.3003},
                                         {100, 3000, 0.7003, 0.9603}};

TEST(row_sample, draws_by_probability) {
  for (int size : {1, 2, 15, 17, 64, 511, 513, 5000, 32001})
    for (bool ties : {false, true}) {
      std::vector<float> x = random_row(static_cast<unsigned>(size), size, ties);
      for (const sampling &params : kSettings) {
        std::vector<share> wanted = shares(x, params);
        for (int i = 0; i < 50; ++i) {
          double uniform = i == 0 ? 0.0 : i == 1 ? 1.0 - 0x1p-53 : (i + 0.37) / 50;
          candidate got = draw(x, params, uniform);
          auto found = std::find_if(wanted.begin(), wanted.end(), [&](const share &s) { return s.token == got.token; });
          ASSERT_NE(found, wanted.end()) << size << " token " << got.token << " k " << params.top_k << " p " << params.top_p << " min "
                                         << params.min_p;
          EXPECT_EQ(got.logit, x[static_cast<size_t>(got.token)]);
          double begin = found == wanted.begin() ? 0.0 : (found - 1)->end;
          EXPECT_LE(begin, uniform + 1e-5);
          EXPECT_GE(found->end, uniform - 1e-5);
        }
      }
    }
}

TEST(row_sample, draws_the_same_with_every_instruction_set) {
  std::vector<float> x = random_row(3, 5003, false);
  const int best = detect_isa().best;
  for (const sampling &params : kSettings)
    for (int i = 0; i < 200; ++i)
      for (int isa = 1; isa <= best; ++isa)
        EXPECT_EQ(draw(x, params, (i + 0.5) / 200).token, draw(x, params, (i + 0.5) / 200, isa).token) << isa_name(isa);
}

TEST(row_sample, draws_from_one_token_and_from_distant_ones) {
  std::vector<float> x(1000, -kInfinity);
  x[700] = -3e38f;
  for (const sampling &params : kSettings)
    EXPECT_EQ(draw(x, params, 0.99).token, 700);
  x[100] = 3e38f; // nothing of the other is left
  for (const sampling &params : kSettings)
    EXPECT_EQ(draw(x, params, 0.999999).token, 100);
}

TEST(row_sample, makes_numbers_that_look_random) {
  const int32_t some[] = {1, 2}, others[] = {2, 1};
  EXPECT_NE(mix(0, std::span(some)), mix(0, std::span(others)));
  EXPECT_NE(mix(0, std::span(some)), mix(1, std::span(some)));
  EXPECT_NE(mix(0, std::span(some, 1)), mix(0, std::span(some, 0)));
  std::vector<int> counts(100);
  for (uint64_t i = 0; i < 100000; ++i)
    ++counts[static_cast<size_t>(uniform(mix(mix(7, i / 10), i % 10)) * 100)];
  double deviation = 0;
  for (int count : counts)
    deviation += (count - 1000.0) * (count - 1000.0) / 1000.0;
  EXPECT_LT(deviation, 160); // chi-squared of 99 degrees of freedom: once in 10,000
  EXPECT_GT(deviation, 50);
}

TEST(logit_rules, leave_out_what_is_forbidden) {
  std::vector<float> x(70, 1.0f);
  const uint32_t bits[] = {0x80000001u, 0, 0xfffffff0u};
  leave_out(x, bits);
  for (int i = 0; i < 70; ++i)
    EXPECT_EQ(x[static_cast<size_t>(i)], i == 0 || i == 31 || i >= 68 ? -kInfinity : 1.0f) << i;
}

TEST(logit_rules, penalise_each_token_once) {
  std::vector<float> x = {2.0f, -2.0f, 0.0f, 4.0f, -kInfinity}, scratch(7);
  const int32_t read[] = {3, 1, 3, 1, 5, 2, 4}; // 5 cannot be chosen
  penalise_repetition(x, read, 2.0, scratch.data());
  EXPECT_EQ(x, (std::vector<float>{2.0f, -4.0f, 0.0f, 2.0f, -kInfinity}));
}

TEST(logit_rules, forbid_what_would_be_repeated) {
  auto forbidden = [](std::vector<int32_t> read, int length) {
    std::vector<float> x(10);
    forbid_repeated_ngrams(x, read, length);
    std::set<int32_t> result;
    for (int32_t v = 0; v < 10; ++v)
      if (x[static_cast<size_t>(v)] == -kInfinity)
        result.insert(v);
    return result;
  };
  EXPECT_EQ(forbidden({1, 2, 3, 1, 2}, 3), (std::set<int32_t>{3}));
  EXPECT_EQ(forbidden({1, 2, 3, 1, 2, 4, 1, 2}, 3), (std::set<int32_t>{3, 4}));
  EXPECT_EQ(forbidden({1, 1}, 2), (std::set<int32_t>{1}));
  EXPECT_EQ(forbidden({5, 6, 5}, 1), (std::set<int32_t>{5, 6}));
  EXPECT_EQ(forbidden({1, 2, 3}, 3), (std::set<int32_t>{}));
  EXPECT_EQ(forbidden({1}, 3), (std::set<int32_t>{}));
  EXPECT_EQ(forbidden({}, 1), (std::set<int32_t>{}));
  EXPECT_EQ(forbidden({10, 2, 11, 2}, 1), (std::set<int32_t>{2})); // 10 and 11 cannot be chosen
  EXPECT_EQ(forbidden({1, 2, 1, 2}, std::numeric_limits<int32_t>::max()), (std::set<int32_t>{}));
}

} // namespace
