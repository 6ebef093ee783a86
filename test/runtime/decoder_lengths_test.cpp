#include "runtime/core/decoder_lengths.h"

#include <gtest/gtest.h>

#include <vector>

namespace xf::rt {
namespace {

xf_abi_generate model() {
  xf_abi_generate g = {};
  g.start = 1, g.pad = 0, g.min_length = 2;
  g.max_length_per_source = 2, g.max_length_base = 3;
  g.target = 40;
  return g;
}

using ids = std::vector<int32_t>;

TEST(decoder_lengths, count_the_start_token_and_no_padding) {
  xf_abi_generate g = model();
  decoder_lengths lengths(g);
  EXPECT_EQ(lengths.unpadded(ids{5, 0, 6, 0, 0}), 3);
  EXPECT_EQ(lengths.unpadded(ids{0, 0}), 0);
  EXPECT_EQ(lengths.given({}), 1);
  EXPECT_EQ(lengths.given(ids{5, 6}), 3);
  EXPECT_EQ(lengths.given(ids{1, 6}), 2);
  g.start = g.pad = -1;
  EXPECT_EQ(lengths.unpadded(ids{5, 0}), 2);
  EXPECT_EQ(lengths.given({}), 0);
}

TEST(decoder_lengths, are_what_the_search_says_before_the_model_before_the_limit) {
  xf_abi_generate g = model();
  decoder_lengths lengths(g);
  search_options o;
  EXPECT_EQ(lengths.longest_result(o, 0, 4, 1), 11);
  EXPECT_EQ(lengths.longest_result(o, 0, 30, 5), 36); // 36 tokens fill 40 positions behind 5: the last is not read
  EXPECT_EQ(lengths.shortest_result(o), 2);
  o.max_length = 7, o.min_length = 0;
  EXPECT_EQ(lengths.longest_result(o, 0, 4, 1), 7);
  EXPECT_EQ(lengths.longest_result(o, 0, 4, 40), 1);
  EXPECT_EQ(lengths.shortest_result(o), 0);
  const ids targets = {6, 7, 8, 9, 9};
  const int64_t offsets[] = {0, 2, 5};
  o.targets = {targets.data(), offsets, 2};
  EXPECT_EQ(lengths.longest_result(o, 1, 4, 1), 3);
  g.max_length_per_source = g.max_length_base = 0;
  EXPECT_EQ(lengths.longest_result({}, 0, 4, 1), 40);
}

TEST(decoder_lengths, need_no_position_for_the_last_token) {
  xf_abi_generate g = model();
  decoder_lengths lengths(g);
  EXPECT_EQ(lengths.positions({}, 0, 4, {}), 11);          // the start token, and ten of eleven
  EXPECT_EQ(lengths.positions({}, 0, 4, ids{6, 7}), 13);
  EXPECT_EQ(lengths.positions({}, 0, 30, ids(20, 6)), 40);
  EXPECT_EQ(lengths.positions({}, 0, 4, ids(90, 6)), 40);  // will be refused
}

} // namespace
} // namespace xf::rt
