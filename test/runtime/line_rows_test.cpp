// The most likely labels of a row, and how likely they are.
#include "runtime/text/line_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace {

using namespace xf::rt;

line_rows of(std::vector<float> row, int64_t best) {
  line_rows rows;
  append_likeliest(row, best, rows);
  return rows;
}

using labels = std::vector<int32_t>;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(line_rows, are_the_likeliest_labels) {
  line_rows all = of({0.5f, -1, 2, 0.5f}, 4);
  EXPECT_EQ(all.labels, (labels{2, 0, 3, 1})) << "of equal ones the first";
  double sum = std::exp(0.5) * 2 + std::exp(-1.0) + std::exp(2.0);
  const double wanted[] = {std::exp(2.0) / sum, std::exp(0.5) / sum, std::exp(0.5) / sum, std::exp(-1.0) / sum};
  ASSERT_EQ(all.scores.size(), 4u);
  for (size_t i = 0; i < 4; ++i)
    EXPECT_NEAR(all.scores[i], wanted[i], 1e-15);
  for (int64_t best : {1, 2, 3, 9}) {
    line_rows some = of({0.5f, -1, 2, 0.5f}, best);
    size_t count = std::min<size_t>(4, static_cast<size_t>(best));
    EXPECT_EQ(some.labels, labels(all.labels.begin(), all.labels.begin() + static_cast<ptrdiff_t>(count)));
    EXPECT_EQ(some.scores, std::vector<double>(all.scores.begin(), all.scores.begin() + static_cast<ptrdiff_t>(count)));
  }
}

TEST(line_rows, are_sure_of_what_is_infinitely_larger) {
  EXPECT_EQ(of({1, kInfinity, 3}, 2).labels, (labels{1, 2}));
  EXPECT_EQ(of({1, kInfinity, 3}, 2).scores, (std::vector<double>{1, 0}));
  EXPECT_EQ(of({kInfinity, kInfinity}, 1).scores, (std::vector<double>{0.5}));
  EXPECT_EQ(of({-kInfinity, -kInfinity}, 1).scores, (std::vector<double>{0.5}));
  EXPECT_EQ(of({-3e38f, 3e38f}, 1).scores, (std::vector<double>{1}));
  EXPECT_EQ(of({7}, 1).scores, (std::vector<double>{1}));
  EXPECT_TRUE(of({}, 1).labels.empty());
}

TEST(line_rows, follow_each_other) {
  line_rows rows;
  append_likeliest(std::vector<float>{0, 1}, 1, rows);
  append_likeliest(std::vector<float>{1, 0}, 1, rows);
  EXPECT_EQ(rows.labels, (labels{1, 0}));
  EXPECT_EQ(rows.scores.size(), 2u);
}

} // namespace
