#include "runtime/core/sentence_window.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

namespace xf::rt {
namespace {

constexpr int64_t kBatch = 3, kSize = kBatch * kWindowBatches;

class SentenceWindow : public testing::Test {
protected:
  SentenceWindow() : window_(plan_, kBatch) {
    memory_.reserve(plan_.bytes());
    window_.bind(memory_);
  }
  // Of sentences with so many tokens.
  const token_rows &rows(const std::vector<int64_t> &lengths) {
    offsets_.assign(1, 0);
    for (int64_t length : lengths)
      offsets_.push_back(offsets_.back() + length);
    ids_.resize(static_cast<size_t>(offsets_.back()));
    return rows_ = {ids_.data(), offsets_.data(), static_cast<int64_t>(lengths.size())};
  }
  std::vector<int64_t> waiting() const {
    std::vector<int64_t> sentences;
    for (int64_t i = 0; i < window_.waiting(); ++i)
      sentences.push_back(window_.sentence(i));
    return sentences;
  }
  static constexpr auto all = [](int64_t) { return true; };

  arena_plan plan_;
  arena memory_;
  sentence_window window_;

private:
  std::vector<int32_t> ids_;
  std::vector<int64_t> offsets_;
  token_rows rows_;
};

TEST_F(SentenceWindow, HasTheLongestInFront) {
  EXPECT_EQ(window_.start(rows({2, 5, 1, 5, 3}), 0, all), 5);
  EXPECT_EQ(waiting(), (std::vector<int64_t>{1, 3, 4, 0, 2})); // of equal ones the first
  EXPECT_EQ(window_.length(0), 5);
  EXPECT_EQ(window_.length(4), 1);
  window_.pop(3);
  EXPECT_EQ(waiting(), (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(window_.length(1), 1);
}

TEST_F(SentenceWindow, LeavesOutWhatIsNotAccepted) {
  std::vector<int64_t> visited;
  window_.start(rows({2, 0, 1, 4}), 0, [&](int64_t sentence) { return visited.push_back(sentence), sentence % 2 == 0; });
  EXPECT_EQ(visited, (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(waiting(), (std::vector<int64_t>{0, 2}));
  window_.start(rows({2, 3}), 0, [](int64_t) { return false; });
  EXPECT_EQ(window_.waiting(), 0);
}

TEST_F(SentenceWindow, IsOfSomeRowsOnly) {
  std::vector<int64_t> lengths(kSize + 2, 1);
  lengths.back() = 9;
  const token_rows &all_rows = rows(lengths);
  EXPECT_EQ(window_.start(all_rows, 0, all), kSize);
  EXPECT_EQ(window_.waiting(), kSize);
  EXPECT_EQ(window_.length(0), 1);
  EXPECT_EQ(window_.start(all_rows, kSize, all), kSize + 2); // whatever waits still
  EXPECT_EQ(waiting(), (std::vector<int64_t>{kSize + 1, kSize}));
  EXPECT_EQ(window_.rows(), &all_rows);
  window_.clear();
  EXPECT_EQ(window_.waiting(), 0);
  EXPECT_EQ(window_.rows(), nullptr);
}

TEST_F(SentenceWindow, GivesAllInBatches) {
  std::mt19937 random(1);
  for (int64_t count : {int64_t{0}, int64_t{1}, kSize - 1, kSize, 3 * kSize + 5}) {
    std::vector<int64_t> lengths;
    for (int64_t i = 0; i < count; ++i)
      lengths.push_back(1 + static_cast<int64_t>(random() % 20));
    std::multiset<int64_t> given, wanted;
    for (int64_t i = 0; i < count; ++i)
      if (i % 5 != 4)
        wanted.insert(i);
    window_.for_batches(
        rows(lengths), 2, [](int64_t sentence) { return sentence % 5 != 4; },
        [&](int64_t batch) {
          EXPECT_TRUE(batch == 2 || batch == window_.waiting()) << batch;
          for (int64_t i = 0; i < batch; ++i) {
            given.insert(window_.sentence(i));
            EXPECT_EQ(window_.length(i), lengths[static_cast<size_t>(window_.sentence(i))]);
            EXPECT_LE(window_.length(i), window_.length(0));
          }
        });
    EXPECT_EQ(given, wanted) << count;
  }
}

} // namespace
} // namespace xf::rt
