// Alignments of results with their sources, and what they are worth in a score.
#include "test/runtime/search_harness.h"

#include <cmath>

namespace {

using sample::defaults;
using sample::expect_same;
using sample::generate;
using sample::machine;
using sample::outcome;
using sample::random_sources;
using sample::tokens;

class alignments : public sample::both_steps {
protected:
  static sample::options aligning(sample::kind kind = sample::kind::translator) {
    sample::options o = plain(kind);
    o.aligns = true;
    return o;
  }
};

// The row for each of a result's tokens, behind what the decoder was given.
std::vector<std::vector<float>> weights_of(const tokens &source, const tokens &given, const tokens &result) {
  tokens read = given;
  read.insert(read.end(), result.begin(), result.end() - 1);
  std::vector<std::vector<float>> rows;
  uint32_t seen = 0;
  for (size_t t = 0; t < read.size(); ++t) {
    seen = sample_seen(seen, read[t], static_cast<int32_t>(t));
    std::vector<float> row;
    for (size_t s = 0; s < source.size(); ++s) {
      auto position = static_cast<int32_t>(s);
      row.push_back(source[s] == SAMPLE_PAD ? 0 : static_cast<float>(sample_weight(seen, sample_feature(source[s], position), position)) / 64);
    }
    if (t + 1 >= given.size())
      rows.push_back(row);
  }
  return rows;
}

TEST_P(alignments, are_those_of_the_models_entry) {
  constexpr int64_t kCapacity = 10, kWidth = 7; // less than there is
  const std::vector<int32_t> prefix = {6, 7};
  for (sample::kind kind : {sample::kind::translator, sample::kind::sequence_first})
    for (int32_t beam : {1, 3})
      for (size_t given : {0, 2}) {
        machine m(aligning(kind), 3);
        std::vector<tokens> sources = random_sources(31, 20, true);
        xf_generate_options options = defaults(beam);
        options.prefix = prefix.data(), options.prefix_count = static_cast<int64_t>(given);
        sample::rows all_sources(sources);
        const int32_t *ids = all_sources.ids.data();
        const int64_t *offsets = all_sources.offsets.data();
        size_t count = sources.size() * static_cast<size_t>(beam);
        std::vector<int32_t> out(count * 64), few(count * kCapacity), lengths(count);
        std::vector<float> weights(count * kCapacity * kWidth, -1.0f);
        // All tokens first, then some with their alignments.
        xf_hypotheses all = {sizeof(all), out.data(), 64, lengths.data(), nullptr, nullptr, 0};
        ASSERT_EQ(xf_generate(m.session, ids, offsets, 20, &options, &all), XF_OK) << xf_message();
        xf_hypotheses some = {sizeof(some), few.data(), kCapacity, lengths.data(), nullptr, weights.data(), kWidth};
        ASSERT_EQ(xf_generate(m.session, ids, offsets, 20, &options, &some), XF_OK) << xf_message();
        tokens read = {SAMPLE_START};
        read.insert(read.end(), prefix.begin(), prefix.begin() + static_cast<long>(given));
        for (size_t index = 0; index < count; ++index) {
          if (lengths[index] < 0)
            continue;
          const tokens &source = sources[index / static_cast<size_t>(beam)];
          tokens result(&out[index * 64], &out[index * 64] + lengths[index]);
          auto wanted = weights_of(source, read, result);
          for (size_t t = 0; t < kCapacity; ++t)
            for (size_t s = 0; s < kWidth; ++s)
              EXPECT_EQ(weights[(index * kCapacity + t) * kWidth + s], t < result.size() && s < source.size() ? wanted[t][s] : -1.0f)
                  << index << " " << t << " " << s;
        }
      }
}

TEST_P(alignments, count_in_scores) {
  machine m(aligning(), 2);
  std::vector<tokens> sources = random_sources(32, 30, true);
  size_t reordered = 0;
  for (int32_t beam : {1, 4})
    for (double penalty : {0.2, 2.0}) {
      xf_generate_options options = defaults(beam);
      options.coverage_penalty = penalty;
      outcome got = generate(m.session, sources, options);
      ASSERT_EQ(got.status, XF_OK) << xf_message();
      for (size_t i = 0; i < sources.size(); ++i) {
        sample::search o;
        o.beam = beam, o.best = 100;
        o.max_length = static_cast<int>(std::min<size_t>(2 * sources[i].size() + 3, sample::kTarget));
        std::vector<sample::found> wanted = sample::run(&sources[i], {SAMPLE_START}, o);
        tokens best = wanted[0].ids;
        for (sample::found &one : wanted) {
          auto rows = weights_of(sources[i], {SAMPLE_START}, one.ids);
          for (size_t s = 0; s < sources[i].size(); ++s) {
            double covered = 0;
            for (const auto &row : rows)
              covered += static_cast<double>(row[s]);
            if (sources[i][s] != SAMPLE_PAD)
              one.score += penalty * std::log(std::min(1.0, std::max(covered, 1e-10)));
          }
        }
        std::stable_sort(wanted.begin(), wanted.end(), [](const sample::found &x, const sample::found &y) { return x.score > y.score + 1e-9; });
        wanted.resize(std::min<size_t>(wanted.size(), static_cast<size_t>(beam)));
        reordered += wanted[0].ids != best;
        expect_same(got.sentences[i], wanted, i);
      }
    }
  EXPECT_GT(reordered, 5u);
}

TEST_P(alignments, link_tokens_of_lines) {
  sample::options o = aligning();
  o.suffix = true;
  machine m(o);
  xf_generate_options options = defaults();
  options.line_alignments = 1, options.min_length = 6;
  const char *lines[] = {"a b c d e f", "d e"};
  xf_lines *results = nullptr;
  ASSERT_EQ(xf_process_lines(m.session, lines, 2, 0, &options, &results), XF_OK) << xf_message();
  std::vector<tokens> sources = {{4, 5, 6, 7, 8, 9, SAMPLE_END}, {7, 8, SAMPLE_END}};
  outcome found = generate(m.session, sources, options);
  bool none = false;
  for (int64_t line = 0; line < 2; ++line) {
    const tokens &ids = found.sentences[static_cast<size_t>(line)][0].ids, &source = sources[static_cast<size_t>(line)];
    auto rows = weights_of(source, {SAMPLE_START}, ids);
    std::vector<int32_t> wanted;
    for (size_t t = 0; t < ids.size(); ++t) {
      if (ids[t] <= SAMPLE_END)
        continue;
      auto best = static_cast<size_t>(std::max_element(rows[t].begin(), rows[t].end()) - rows[t].begin());
      wanted.push_back(best + 1 == source.size() ? -1 : static_cast<int32_t>(best));
      none |= wanted.back() < 0;
    }
    ASSERT_GT(wanted.size(), 1u);
    std::vector<int32_t> got(64, -7);
    EXPECT_EQ(xf_line_alignment(results, line, 0, got.data(), 1), static_cast<int64_t>(wanted.size()));
    EXPECT_EQ(got[1], -7);
    xf_line_alignment(results, line, 0, got.data(), 64);
    EXPECT_EQ(std::vector<int32_t>(got.begin(), got.begin() + static_cast<long>(wanted.size())), wanted);
    EXPECT_EQ(xf_line_alignment(results, line, 1, got.data(), 64), 0);
  }
  EXPECT_TRUE(none);
  xf_lines_free(results);
}

TEST_P(alignments, are_refused_where_there_are_none) {
  machine without(plain()), with(aligning());
  xf_generate_options options = defaults();
  options.coverage_penalty = 0.5;
  EXPECT_EQ(generate(without.session, {{5}}, options).status, XF_UNSUPPORTED);
  EXPECT_STREQ(xf_message(), "the model does not say how its results are aligned with their source: its 'generate' has no 'align'");
  options.coverage_penalty = -1;
  EXPECT_EQ(generate(with.session, {{5}}, options).status, XF_INVALID_ARGUMENT);
  EXPECT_STREQ(xf_message(), "the coverage penalty must be between 0 and 100, not -1");
  std::vector<int32_t> src = {5, 6}, out(40), lengths(1);
  std::vector<float> weights(80);
  xf_tensor input = {"src", XF_I32, 2, {1, 2}, src.data()};
  xf_hypotheses results = {sizeof(results), out.data(), 40, lengths.data(), nullptr, weights.data(), 2};
  machine turned(aligning(sample::kind::sequence_first));
  std::swap(input.shape[0], input.shape[1]);
  EXPECT_EQ(xf_generate_from(turned.session, &input, 1, nullptr, &results), XF_UNSUPPORTED);
  EXPECT_STREQ(xf_message(),
               "what the model makes of sentences has other dimensions before the batch: its results are aligned with sentences that are "
               "given as tokens, one behind the other");
  results.alignment_width = -1;
  EXPECT_EQ(xf_generate_from(with.session, &input, 1, nullptr, &results), XF_INVALID_ARGUMENT);
  EXPECT_STREQ(xf_message(), "the width of alignments is negative");
}

TEST_P(alignments, are_the_same_of_sources_that_the_caller_lays_out) {
  machine m(aligning(), 2);
  const std::vector<tokens> sources = {{5, 6, 7, 8}, {9, 8, 0, 0}, {7, 8, 9, 0}};
  std::vector<int32_t> src;
  for (const tokens &source : sources)
    src.insert(src.end(), source.begin(), source.end());
  xf_generate_options options = defaults(2);
  options.coverage_penalty = 0.7;
  std::vector<int32_t> out(6 * 20), lengths(6);
  std::vector<double> scores(6);
  std::vector<float> weights(6 * 20 * 4);
  xf_tensor input = {"src", XF_I32, 2, {3, 4}, src.data()};
  xf_hypotheses results = {sizeof(results), out.data(), 20, lengths.data(), scores.data(), weights.data(), 4};
  ASSERT_EQ(xf_generate_from(m.session, &input, 1, &options, &results), XF_OK) << xf_message();
  outcome wanted = generate(m.session, sources, options);
  for (size_t index = 0; index < 6; ++index) {
    const tokens &source = sources[index / 2];
    ASSERT_GT(lengths[index], 0);
    tokens result(&out[index * 20], &out[index * 20] + lengths[index]);
    EXPECT_EQ(wanted.sentences[index / 2][index % 2].ids, result);
    EXPECT_EQ(wanted.sentences[index / 2][index % 2].score, scores[index]);
    auto rows = weights_of(source, {SAMPLE_START}, result);
    for (size_t t = 0; t < result.size(); ++t)
      for (size_t s = 0; s < 4; ++s)
        EXPECT_EQ(weights[(index * 20 + t) * 4 + s], rows[t][s]) << index << " " << t << " " << s;
  }
}

INSTANTIATE_TEST_SUITE_P(steps, alignments, testing::Values(false, true));

} // namespace
