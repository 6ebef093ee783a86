#include "runtime/core/beam_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

using namespace xf::rt;

namespace {

constexpr int32_t kSlots = 4, kBeams = 5, kPositions = 12;

// A search of which only the rows are kept: what a row holds is the list of numbers that its steps have written, none of them twice.
struct Search {
  Search() { memory.reserve(plan.bytes()), rows.bind(memory), rows.forget(), rows.clear(); }

  void open(int32_t slot) {
    rows.open(slot);
    beams[slot] = {{}};
  }
  // A step writes a position of each row.
  void step() {
    for (int32_t row = 0; row < rows.count(); ++row) {
      auto past = static_cast<int64_t>(expected(row).size());
      written[row].resize(static_cast<size_t>(past));
      written[row].push_back(++next);
      expected(row).push_back(next);
      rows.append(row, past, 1);
    }
  }
  // The beams that go on grow from these parents; none: the slot is free.
  void grow(const std::vector<std::vector<int32_t>> &parents) {
    std::vector<slot_beams> after;
    std::vector<std::vector<open_beam>> grown(kSlots);
    for (int32_t slot = 0; slot < kSlots; ++slot) {
      std::vector<std::vector<int>> before = beams[slot];
      beams[slot].clear();
      for (int32_t parent : parents[slot]) {
        grown[slot].push_back({0.0, parent, 0});
        beams[slot].push_back(before[parent]);
      }
      int64_t positions = beams[slot].empty() ? 0 : static_cast<int64_t>(beams[slot][0].size());
      after.push_back({static_cast<int32_t>(parents[slot].size()), grown[slot].data(), positions});
    }
    std::vector<std::vector<int>> from = written;
    for (const row_move &move : rows.regroup(after)) {
      EXPECT_EQ(written[move.from], from[move.from]) << "a move reads what another wrote";
      written[move.to].resize(static_cast<size_t>(move.positions));
      std::copy(from[move.from].begin() + move.first, from[move.from].begin() + move.positions, written[move.to].begin() + move.first);
    }
  }
  // Each beam has a row of its own among the first, and that holds what the beam has read.
  void check() {
    std::vector<bool> seen(static_cast<size_t>(rows.count()));
    for (int32_t slot = 0; slot < kSlots; ++slot)
      for (int32_t beam = 0; beam < static_cast<int32_t>(beams[slot].size()); ++beam) {
        int32_t row = rows.of(slot)[beam];
        ASSERT_LT(row, rows.count());
        EXPECT_FALSE(seen[static_cast<size_t>(row)]);
        seen[static_cast<size_t>(row)] = true;
        EXPECT_EQ(rows.slot_of(row), slot);
        EXPECT_EQ(rows.beam_of(row), beam);
        const std::vector<int> &held = written[row], &wanted = beams[slot][beam];
        ASSERT_GE(held.size(), wanted.size());
        EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), held.begin()));
      }
    EXPECT_EQ(std::count(seen.begin(), seen.end(), true), rows.count());
  }
  std::vector<int> &expected(int32_t row) { return beams[rows.slot_of(row)][rows.beam_of(row)]; }

  arena_plan plan;
  beam_rows rows{plan, kSlots, kBeams, kPositions};
  arena memory;
  int next = 0;
  std::vector<std::vector<int>> written = std::vector<std::vector<int>>(kSlots * kBeams);         // [row]
  std::vector<std::vector<std::vector<int>>> beams = std::vector<std::vector<std::vector<int>>>(kSlots); // what each has read
};

TEST(beam_rows, hold_what_their_beams_have_read) {
  std::mt19937 random(3);
  auto below = [&](size_t n) { return static_cast<int32_t>(random() % n); };
  for (int round = 0; round < 200; ++round) {
    Search search;
    for (int step = 0; step < kPositions; ++step) {
      for (int32_t slot = 0; slot < kSlots; ++slot)
        if (search.beams[slot].empty() && below(3) > 0)
          search.open(slot);
      search.step();
      std::vector<std::vector<int32_t>> parents(kSlots);
      for (int32_t slot = 0; slot < kSlots; ++slot)
        if (!search.beams[slot].empty() && below(6) > 0)
          for (int32_t beam = below(kBeams); beam >= 0; --beam)
            parents[slot].push_back(below(search.beams[slot].size()));
      search.grow(parents);
      search.check();
      ASSERT_FALSE(HasFailure());
    }
  }
}

TEST(beam_rows, stay_where_they_are_if_they_can) {
  Search search;
  search.open(0);
  search.open(1);
  search.step();
  search.grow({{0, 0, 0}, {0}, {}, {}});
  search.step();
  EXPECT_EQ(search.rows.of(0)[0], 0);
  EXPECT_EQ(search.rows.of(1)[0], 1);
  // The first takes the row of its parent, the other that which nobody needs.
  std::vector<int32_t> rows(search.rows.of(0), search.rows.of(0) + 3);
  search.grow({{1, 1, 2}, {0}, {}, {}});
  EXPECT_EQ(search.rows.of(0)[0], rows[1]);
  EXPECT_EQ(search.rows.of(0)[1], rows[0]);
  EXPECT_EQ(search.rows.of(0)[2], rows[2]);
}

TEST(beam_rows, copy_only_what_a_sibling_lacks) {
  Search search;
  search.open(0);
  for (int step = 0; step < 3; ++step) {
    search.step();
    search.grow({{0}, {}, {}, {}});
  }
  search.step();
  search.grow({{0, 0}, {}, {}, {}});
  search.step();
  open_beam grown[] = {{0.0, 1, 0}, {0.0, 1, 0}};
  std::span<const row_move> moves = search.rows.regroup(std::vector<slot_beams>{{2, grown, 5}, {}, {}, {}});
  ASSERT_EQ(moves.size(), 1u);
  EXPECT_EQ(moves[0].first, 4);
  EXPECT_EQ(moves[0].positions, 5);
}

} // namespace
