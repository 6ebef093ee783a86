#include "runtime/core/grouping.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <numeric>
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
  std::vector<int32_t> split(const std::vector<int32_t> &lengths, int threads = 1, sharing mode = sharing::padded, int64_t max_tokens = 2048) {
    auto ends = groups(lengths, threads, mode, max_tokens).ends;
    return {ends.begin(), ends.end()};
  }
  sentence_groups groups(const std::vector<int32_t> &lengths, int threads, sharing mode, int64_t max_tokens) {
    std::copy(lengths.begin(), lengths.end(), groups_.lengths());
    return groups_.split(static_cast<int64_t>(lengths.size()), threads, max_tokens, mode);
  }
  static int64_t tokens_of(const std::vector<int32_t> &lengths, int32_t begin, int32_t end, sharing mode) {
    if (mode == sharing::packed)
      return std::accumulate(lengths.begin() + begin, lengths.begin() + end, int64_t{0});
    return static_cast<int64_t>(end - begin) * lengths[begin];
  }
  static double cost(const std::vector<int32_t> &lengths, const std::vector<int32_t> &ends, int threads, sharing mode) {
    double sum = 0;
    int32_t begin = 0;
    for (int32_t end : ends) {
      sum += call_cost(tokens_of(lengths, begin, end, mode), threads);
      begin = end;
    }
    return sum;
  }
  // Of the largest group.
  static int64_t tokens(const std::vector<int32_t> &lengths, const std::vector<int32_t> &ends, sharing mode) {
    int64_t max_tokens = 0;
    int32_t begin = 0;
    for (int32_t end : ends) {
      max_tokens = std::max(max_tokens, tokens_of(lengths, begin, end, mode));
      begin = end;
    }
    return max_tokens;
  }

private:
  arena_plan plan_;
  grouping groups_;
  arena memory_;
};

TEST_F(GroupingTest, OneSentence) { EXPECT_EQ(split({7}), std::vector<int32_t>({1})); }

TEST_F(GroupingTest, EqualLengthsShareTheWeights) { EXPECT_EQ(split(std::vector<int32_t>(20, 9)), std::vector<int32_t>({20})); }

TEST_F(GroupingTest, LongOnesDoNotPadShortOnes) { EXPECT_EQ(split({200, 20, 20, 20}), std::vector<int32_t>({1, 4})); }

TEST_F(GroupingTest, WithoutPaddingGroupsHaveOneLength) { EXPECT_EQ(split({9, 9, 8, 7, 7, 7}, 1, sharing::equal), std::vector<int32_t>({2, 3, 6})); }

TEST_F(GroupingTest, GroupsHaveAtMostSoManyTokens) {
  EXPECT_EQ(split({70, 30, 30, 30, 30}, 1, sharing::padded, 60), std::vector<int32_t>({1, 3, 5}));
  EXPECT_EQ(max_tokens_per_call(4, false), 2 * max_tokens_per_call(2, false));
}

TEST_F(GroupingTest, WithoutPaddingAnyMayShareACall) { EXPECT_EQ(split({60, 31, 9, 2, 1}, 1, sharing::packed, 103), std::vector<int32_t>({5})); }

TEST_F(GroupingTest, GroupsAreEven) { EXPECT_EQ(split({50, 40, 40, 30, 30, 10}, 1, sharing::packed, 130), std::vector<int32_t>({2, 6})); }

TEST_F(GroupingTest, ThreadsGetSentencesOfTheirOwn) {
  // The longest goes to the thread that has the fewest tokens: 60 + 40 + 10, 50 + 45 + 20.
  sentence_groups dealt = groups({60, 50, 45, 40, 20, 10}, 2, sharing::per_thread, 200);
  EXPECT_EQ(std::vector<int32_t>(dealt.sentences.begin(), dealt.sentences.end()), std::vector<int32_t>({0, 3, 5, 1, 2, 4}));
  EXPECT_EQ(std::vector<int32_t>(dealt.lengths.begin(), dealt.lengths.end()), std::vector<int32_t>({60, 40, 10, 50, 45, 20}));
  // A thread's share of a group's tokens are 100.
  EXPECT_EQ(std::vector<int32_t>(dealt.ends.begin(), dealt.ends.end()), std::vector<int32_t>({1, 3, 4, 6}));
  EXPECT_EQ(std::vector<int32_t>(dealt.threads.begin(), dealt.threads.end()), std::vector<int32_t>({2, 4}));
}

TEST_F(GroupingTest, ThreadsShareWhatIsUnevenOrFew) {
  auto are_per_thread = [&](const std::vector<int32_t> &lengths, int threads, sharing mode = sharing::per_thread) {
    sentence_groups all = groups(lengths, threads, mode, 512);
    EXPECT_EQ(all.lengths.size(), lengths.size());
    EXPECT_EQ(all.ends.back(), static_cast<int32_t>(lengths.size()));
    return !all.threads.empty();
  };
  EXPECT_TRUE(are_per_thread({32, 32}, 2));
  EXPECT_FALSE(are_per_thread({32, 32}, 2, sharing::packed));
  EXPECT_FALSE(are_per_thread({32, 32}, 1));
  EXPECT_FALSE(are_per_thread({31, 31}, 2)); // bound by the weights
  EXPECT_FALSE(are_per_thread({500}, 2));
  EXPECT_FALSE(are_per_thread({64, 64, 64}, 2));
  EXPECT_TRUE(are_per_thread({64, 64, 64}, 3));
  EXPECT_TRUE(are_per_thread({100, 90}, 2)); // 100 of 95
  EXPECT_FALSE(are_per_thread({100, 80}, 2));
}

TEST_F(GroupingTest, NoSplitIsCheaper) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<int32_t> lengths(1 + random() % 9);
    for (int32_t &length : lengths)
      length = static_cast<int32_t>(1 + random() % 60);
    std::sort(lengths.rbegin(), lengths.rend());
    int threads = static_cast<int>(1 + random() % 4);
    int64_t max_tokens = 60 + random() % 200;
    sharing mode = round % 2 ? sharing::packed : sharing::padded;
    double best = cost(lengths, split(lengths, threads, mode, max_tokens), threads, mode);
    // All ways to cut, one bit for each place between two sentences.
    for (unsigned cuts = 0; cuts < 1u << (lengths.size() - 1); ++cuts) {
      std::vector<int32_t> ends;
      for (size_t i = 1; i < lengths.size(); ++i)
        if (cuts >> (i - 1) & 1)
          ends.push_back(static_cast<int32_t>(i));
      ends.push_back(static_cast<int32_t>(lengths.size()));
      if (tokens(lengths, ends, mode) <= max_tokens)
        ASSERT_LE(best, cost(lengths, ends, threads, mode) + 1e-9);
    }
  }
}

} // namespace
} // namespace xf::rt
