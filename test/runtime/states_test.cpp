// Where states lie, and that a search finds the same whatever lay there before.
#include "runtime/core/session.h"
#include "test/runtime/sample_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>

namespace {

using namespace xf::rt;

class states : public testing::Test {
protected:
  state_room room(int64_t rows, int64_t sentences, int64_t target) const {
    state_room result = largest_room(*model);
    result.rows = rows, result.sentences = sentences;
    result.capacities[model->header().generate.target_dim] = target;
    return result;
  }

  sample::aligned_bytes image{sample::build({})};
  std::shared_ptr<const xf::rt::model> model = open_model(image.data(), image.size());
};

TEST_F(states, lie_close_together) {
  state_layout layout(*model);
  EXPECT_EQ(layout.room.rows, sample::kBatch * sample::kBeam);
  EXPECT_EQ(layout.room.capacities[model->header().generate.target_dim], sample::kTarget);

  layout.lay_out(*model, room(6, 3, 9));
  // [2 layers][6 rows][2][12 of 9 positions], four together; [6 rows][2]; [3 sentences][4]: of 4 bytes, layers of whole lines
  const state_region &seen = layout.regions[0], &scan = layout.regions[1], &cross = layout.regions[2];
  EXPECT_EQ(seen.layers, 2u);
  EXPECT_EQ(seen.outer, 2u);
  EXPECT_EQ(seen.unit_positions, 4u);
  EXPECT_EQ(seen.unit_bytes, 16u);
  EXPECT_EQ(seen.outer_stride, 48u);
  EXPECT_EQ(seen.row_stride, 96u);
  EXPECT_EQ(seen.layer_stride, 576u);
  EXPECT_EQ(scan.offset, 1152u);
  EXPECT_EQ(scan.row_stride, 8u);
  EXPECT_EQ(scan.unit_positions, 0u);
  EXPECT_EQ(scan.unit_bytes, 8u);
  EXPECT_EQ(scan.layer_stride, 64u);
  EXPECT_TRUE(cross.per_sentence);
  EXPECT_EQ(cross.offset, 1216u);
  EXPECT_EQ(layout.bytes, 1280u);
}

TEST_F(states, are_laid_out_anew_for_what_a_search_needs) {
  session s(model, {.threads = 1, .isa = XF_ABI_BASELINE});
  uint64_t largest = s.states().bytes;
  EXPECT_TRUE(std::all_of(s.state_memory(), s.state_memory() + largest, [](uint8_t byte) { return byte == 0; }));

  s.make_room(room(2, 2, 8));
  uint64_t small = s.states().bytes;
  EXPECT_LT(small, largest / 4);
  s.make_room(room(2, 2, 7)); // fits
  EXPECT_EQ(s.states().bytes, small);
  s.make_room(room(2, 2, 9));
  EXPECT_GT(s.states().bytes, small);
  s.make_room(room(16, 4, 40));
  EXPECT_EQ(s.states().bytes, largest);
  s.make_room(room(1, 1, 4)); // would fit, but far apart
  EXPECT_LT(s.states().bytes, small);
}

// Bits of one type may be no number of another.
TEST_F(states, of_different_types_never_share_memory) {
  std::vector<uint8_t> bytes_of_types = sample::build({});
  auto *header = reinterpret_cast<const xf_abi_image *>(bytes_of_types.data());
  auto *table = reinterpret_cast<xf_abi_state *>(bytes_of_types.data() + header->states.offset);
  table[0].dtype = XF_ABI_BF16, table[1].dtype = XF_ABI_F32, table[2].dtype = XF_ABI_BF16;
  sample::seal(bytes_of_types);
  sample::aligned_bytes typed{bytes_of_types};
  std::shared_ptr<const xf::rt::model> of_types = open_model(typed.data(), typed.size());

  state_layout layout(*of_types);
  uint64_t floats = layout.regions[1].layer_stride, bytes = layout.bytes;
  EXPECT_EQ(layout.regions[1].offset, 0u);
  EXPECT_EQ(layout.regions[0].offset, floats);
  EXPECT_EQ(layout.regions[2].offset, floats + 2 * layout.regions[0].layer_stride);
  EXPECT_EQ(bytes, layout.regions[2].offset + layout.regions[2].layer_stride);
  for (auto [rows, sentences, target] : {std::array{1, 1, 1}, {2, 2, 9}, {16, 4, 40}, {1, 1, 40}}) {
    layout.lay_out(*of_types, room(rows, sentences, target));
    EXPECT_EQ(layout.regions[1].offset, 0u);
    EXPECT_LE(layout.regions[1].layer_stride, floats);
    EXPECT_EQ(layout.regions[0].offset, floats);
    EXPECT_EQ(layout.regions[2].offset, floats + 2 * layout.regions[0].layer_stride);
    EXPECT_LE(layout.regions[2].offset + layout.regions[2].layer_stride, bytes);
  }
}

// Keeps what a search finds.
struct kept_results : search_sink {
  void hypothesis_found(int64_t sentence, int32_t rank, std::span<const int32_t> tokens, bool, double score) override {
    found[{sentence, rank}] = {{tokens.begin(), tokens.end()}, score};
  }
  void sentence_failed(int64_t, const char *message) override { FAIL() << message; }
  std::map<std::pair<int64_t, int32_t>, std::pair<std::vector<int32_t>, double>> found;
};

TEST_F(states, carry_nothing_from_one_search_to_the_next) {
  auto search = [](session &s, int64_t sentences, int64_t longest, int32_t beam, int32_t max_length) {
    std::vector<int32_t> ids;
    std::vector<int64_t> offsets = {0};
    for (int64_t i = 0; i < sentences; ++i) {
      for (int64_t k = 0; k <= i % longest; ++k)
        ids.push_back(static_cast<int32_t>(3 + (i * 7 + k * 5 + longest) % 20));
      offsets.push_back(static_cast<int64_t>(ids.size()));
    }
    search_options options;
    options.beam = options.best = beam;
    options.max_length = max_length;
    kept_results results;
    s.search()->generate({ids.data(), offsets.data(), sentences}, options, results);
    EXPECT_GE(results.found.size(), static_cast<size_t>(sentences));
    return results.found;
  };
  session used(model, {.threads = 2, .isa = XF_ABI_BASELINE});
  for (auto [sentences, longest, beam, max_length] :
       {std::array{1, 3, 1, 4}, {40, 12, 4, 40}, {2, 2, 4, 9}, {1, 1, 1, 1}, {9, 12, 2, -1}, {5, 6, 3, 17}, {5, 6, 3, 16}}) {
    session fresh(model, {.threads = 1, .isa = XF_ABI_BASELINE});
    std::fill_n(used.state_memory(), state_layout(*model).bytes, 0xff);
    EXPECT_EQ(search(used, sentences, longest, beam, max_length), search(fresh, sentences, longest, beam, max_length))
        << sentences << " sentences of at most " << longest << " tokens, " << beam << " beams, at most " << max_length << " tokens";
  }
}

} // namespace
