#include "runtime/core/search_slots.h"

#include <gtest/gtest.h>

#include <vector>

namespace xf::rt {
namespace {

constexpr int64_t kSlots = 3, kBeams = 2, kTarget = 8, kWords = 1;
constexpr int32_t kEnd = 2;

xf_abi_generate limits() {
  xf_abi_generate g = {};
  g.batch = kSlots, g.beam = kBeams, g.target = kTarget;
  return g;
}

class SearchSlots : public testing::Test {
protected:
  SearchSlots() : slots_(limits(), plan_) {
    memory_.reserve(plan_.bytes());
    slots_.bind(memory_, forbidden_.data(), kWords);
    slots_.start(kSlots, {}, nullptr, {kEnd, {}, {}});
  }
  // A sentence whose decoder is given these tokens.
  slot &open(int32_t index, int64_t sentence, const std::vector<int32_t> &given) {
    slot &s = slots_.open(index, sentence, {});
    for (int32_t token : given)
      s.give(token);
    s.given = s.prefix_length;
    s.min_length = 1;
    s.beams.start(kBeams, 4, slots_.ends());
    return s;
  }
  // Each open beam of the slot may go on with these tokens, the first of which is the best.
  bool advance(slot &s, const std::vector<int32_t> &tokens) {
    std::vector<candidate> best;
    for (int32_t token : tokens)
      best.push_back({-static_cast<float>(best.size()), token});
    row_summary summary = {static_cast<int32_t>(best.size()), true, 0.0};
    std::vector<const row_summary *> summaries(kBeams, &summary);
    std::vector<const candidate *> candidates(kBeams, best.data());
    return s.beams.advance(summaries.data(), candidates.data());
  }
  std::vector<int32_t> taken() const {
    std::vector<int32_t> indices;
    slots_.for_each([&](int32_t index, const slot &) { indices.push_back(index); });
    return indices;
  }
  std::vector<int32_t> read(int32_t row) const {
    std::vector<int32_t> tokens(2 * kTarget);
    std::span<const int32_t> found = slots_.tokens_read(row, tokens.data());
    return {found.begin(), found.end()};
  }

  arena_plan plan_;
  arena memory_;
  std::vector<uint32_t> forbidden_ = std::vector<uint32_t>((1 + 2 * kSlots) * kWords);
  search_slots slots_;
};

TEST_F(SearchSlots, AreTakenAndFreeAgain) {
  open(0, 7, {1});
  open(2, 4, {1});
  EXPECT_EQ(taken(), (std::vector<int32_t>{0, 2}));
  EXPECT_EQ(slots_.taken(), 2);
  EXPECT_EQ(slots_.of_row(1).sentence, 4);
  slots_.for_each([&](int32_t index, slot &) { slots_.close(index); });
  EXPECT_TRUE(taken().empty());
  EXPECT_EQ(slots_.taken(), 0);
  open(1, 5, {1});
  slots_.start(1, {}, nullptr, {kEnd, {}, {}}); // the search has stopped in the middle
  EXPECT_TRUE(taken().empty());
  EXPECT_EQ(slots_.rows().count(), 0);
}

// Sentences read what they are given at the same pace, and choose when they have.
TEST_F(SearchSlots, ReadWhatTheyAreGivenFirst) {
  open(0, 0, {1, 5, 6});
  open(1, 1, {1, 7, 8, 9});
  EXPECT_EQ(slots_.next_token(0, 2), 6);
  EXPECT_EQ(slots_.next_token(1, 0), 1);
  slots_.read(3);
  EXPECT_TRUE(slots_.any_ready());
  EXPECT_EQ(slots_.longest(), 3);
  EXPECT_EQ(slots_.class_of(1), token_classes::kNone);
  EXPECT_EQ(slots_.class_of(0), slots_.classes().of(0, /*may_end=*/false)); // at least one token comes first
  EXPECT_EQ(slots_.next_token(1, 0), 9);
  EXPECT_EQ(read(0), (std::vector<int32_t>{1, 5, 6}));
}

TEST_F(SearchSlots, GiveEachBeamARow) {
  slot &s = open(0, 0, {1, 5});
  open(1, 1, {1, 5, 6});
  slots_.read(2);
  ASSERT_TRUE(advance(s, {3, 4}));
  std::span<const row_move> moves = slots_.regroup(/*have_moved=*/false);
  ASSERT_EQ(moves.size(), 1u); // the second beam's, to a row of its own
  EXPECT_EQ(moves[0].from, 0);
  EXPECT_EQ(moves[0].positions, 2);
  EXPECT_EQ(slots_.rows().count(), 3);
  for (size_t beam = 0; beam < 2; ++beam) {
    int32_t row = slots_.rows_of(0)[beam], token = beam == 0 ? 3 : 4;
    EXPECT_EQ(slots_.next_token(row, 0), token);
    EXPECT_EQ(read(row), (std::vector<int32_t>{1, 5, token}));
    EXPECT_EQ(slots_.class_of(row), slots_.classes().of(0, /*may_end=*/true));
  }
  EXPECT_EQ(slots_.rows_of(1).size(), 1u); // still reads
  slots_.close(0);
  slots_.regroup(/*have_moved=*/false);
  EXPECT_EQ(slots_.rows().count(), 1);
  EXPECT_EQ(slots_.of_row(0).sentence, 1);
}

// Position n of those that were read last says what the token behind it is worth.
TEST_F(SearchSlots, KnowWhichTokenOfAResultAPositionScores) {
  slot &s = open(0, 0, {1, 5});
  for (int32_t token : {6, 7})
    s.give(token); // and a last one, which is not read
  slots_.read(4);
  std::vector<int64_t> scored;
  for (int64_t position = 0; position < 4; ++position)
    scored.push_back(s.scored(position, 4));
  EXPECT_EQ(scored, (std::vector<int64_t>{-1, 0, 1, 2}));
}

} // namespace
} // namespace xf::rt
