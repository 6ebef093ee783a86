#include "runtime/core/grouping.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <random>
#include <vector>

namespace xf::rt {
namespace {

class GroupingTest : public testing::Test {
protected:
  GroupingTest() : groups_(plan_, 64) {
    memory_.reserve(plan_.bytes());
    groups_.bind(memory_);
  }
  std::vector<int32_t> split(const std::vector<int32_t> &lengths, int threads = 1, bool may_pad = true, int64_t most = 2048) {
    std::copy(lengths.begin(), lengths.end(), groups_.lengths());
    auto ends = groups_.split(static_cast<int64_t>(lengths.size()), threads, most, may_pad ? sharing::padded : sharing::equal);
    return {ends.begin(), ends.end()};
  }
  static double cost(const std::vector<int32_t> &lengths, const std::vector<int32_t> &ends, int threads) {
    double sum = 0;
    int32_t begin = 0;
    for (int32_t end : ends) {
      sum += call_cost(static_cast<int64_t>(end - begin) * lengths[begin], threads);
      begin = end;
    }
    return sum;
  }
  // Of the largest group.
  static int64_t tokens(const std::vector<int32_t> &lengths, const std::vector<int32_t> &ends) {
    int64_t most = 0;
    int32_t begin = 0;
    for (int32_t end : ends) {
      most = std::max<int64_t>(most, static_cast<int64_t>(end - begin) * lengths[begin]);
      begin = end;
    }
    return most;
  }

private:
  arena_plan plan_;
  grouping groups_;
  arena memory_;
};

TEST_F(GroupingTest, OneSentence) { EXPECT_EQ(split({7}), std::vector<int32_t>({1})); }

TEST_F(GroupingTest, EqualLengthsShareTheWeights) {
  EXPECT_EQ(split(std::vector<int32_t>(20, 9)), std::vector<int32_t>({20}));
}

TEST_F(GroupingTest, LongOnesDoNotPadShortOnes) {
  EXPECT_EQ(split({200, 20, 20, 20}), std::vector<int32_t>({1, 4}));
}

TEST_F(GroupingTest, WithoutPaddingGroupsHaveOneLength) {
  EXPECT_EQ(split({9, 9, 8, 7, 7, 7}, 1, false), std::vector<int32_t>({2, 3, 6}));
}

TEST_F(GroupingTest, GroupsHaveAtMostSoManyTokens) {
  EXPECT_EQ(split({70, 30, 30, 30, 30}, 1, true, 60), std::vector<int32_t>({1, 3, 5}));
  EXPECT_EQ(most_tokens(4, false), 2 * most_tokens(2, false));
}

TEST_F(GroupingTest, NoSplitIsCheaper) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<int32_t> lengths(1 + random() % 9);
    for (int32_t &length : lengths)
      length = static_cast<int32_t>(1 + random() % 60);
    std::sort(lengths.rbegin(), lengths.rend());
    int threads = static_cast<int>(1 + random() % 4);
    int64_t most = 60 + random() % 200;
    double best = cost(lengths, split(lengths, threads, true, most), threads);
    // All ways to cut, one bit for each place between two sentences.
    for (unsigned cuts = 0; cuts < 1u << (lengths.size() - 1); ++cuts) {
      std::vector<int32_t> ends;
      for (size_t i = 1; i < lengths.size(); ++i)
        if (cuts >> (i - 1) & 1)
          ends.push_back(static_cast<int32_t>(i));
      ends.push_back(static_cast<int32_t>(lengths.size()));
      if (tokens(lengths, ends) <= most)
        ASSERT_LE(best, cost(lengths, ends, threads) + 1e-9);
    }
  }
}

} // namespace
} // namespace xf::rt
