// Results that are scored instead of searched for, and alternatives: the first tokens of several results given by their order.
#include "test/runtime/search_harness.h"

#include <cmath>

namespace {

using sample::defaults;
using sample::expect_same;
using sample::expect_same_bits;
using sample::found;
using sample::generate;
using sample::machine;
using sample::message_of;
using sample::outcome;
using sample::random_sources;
using sample::rows;
using sample::set_prefixes;
using sample::set_targets;
using sample::tokens;

class given_results : public sample::both_steps {};

// Sentences that a decoder without a source can read, too.
std::vector<tokens> sentences(unsigned seed, int count) {
  std::vector<tokens> result = random_sources(seed, count, true);
  for (tokens &ids : result) {
    for (int32_t &id : ids)
      id = id < SAMPLE_VOCABULARY ? id : 3 + id % (SAMPLE_VOCABULARY - 3);
    ids.resize(std::min<size_t>(ids.size(), 8));
    ids.back() = 5;
  }
  return result;
}

double summed(const tokens *source, tokens read, const tokens &target) {
  double sum = 0;
  for (int32_t token : target) {
    sum += sample::log_p(source, read, {})[static_cast<size_t>(token)];
    read.push_back(token);
  }
  return sum;
}

TEST_P(given_results, are_scored) {
  std::mt19937 random(3);
  for (sample::options model : {plain(), plain(sample::kind::continuer)})
    for (bool with_prefix : {false, true}) {
      bool source = model.model == sample::kind::translator;
      if (with_prefix && !source)
        continue;
      machine m(model, 2);
      std::vector<tokens> lines = sentences(21, 40), wanted;
      rows targets, prefixes;
      std::vector<double> sums;
      for (const tokens &line : lines) {
        tokens target(1 + random() % 20), prefix(with_prefix ? random() % 10 : 0);
        for (tokens *side : {&target, &prefix})
          for (int32_t &id : *side)
            id = static_cast<int32_t>(2 + random() % (SAMPLE_VOCABULARY - 2)); // ends among them
        tokens read = {SAMPLE_START};
        read.insert(read.end(), source ? prefix.begin() : line.begin(), source ? prefix.end() : line.end());
        wanted.push_back(target);
        sums.push_back(summed(source ? &line : nullptr, read, target));
        targets.add(target);
        prefixes.add(prefix);
      }
      for (double alpha : {0.0, 1.0, 0.6})
        for (int32_t batch : {0, 1, 3}) {
          xf_generate_options options = defaults();
          set_targets(options, targets);
          if (with_prefix)
            set_prefixes(options, prefixes);
          options.length_penalty = alpha, options.batch = batch, options.scores = 0;
          outcome got = generate(m.session, lines, options);
          ASSERT_EQ(got.status, XF_OK) << xf_message();
          for (size_t i = 0; i < lines.size(); ++i)
            expect_same(got.sentences[i], {{wanted[i], sums[i] / std::pow(static_cast<double>(wanted[i].size()), alpha)}}, i);
        }
    }
}

TEST_P(given_results, score_as_they_were_searched_for) {
  machine m(plain());
  std::vector<tokens> lines = random_sources(22, 30);
  outcome found = generate(m.session, lines, defaults(3));
  for (size_t rank = 0; rank < 3; ++rank) {
    rows targets;
    for (const auto &sentence : found.sentences)
      targets.add(sentence[rank].ids);
    xf_generate_options given = defaults();
    set_targets(given, targets);
    outcome got = generate(m.session, lines, given);
    ASSERT_EQ(got.status, XF_OK) << xf_message();
    for (size_t i = 0; i < lines.size(); ++i)
      expect_same(got.sentences[i], {found.sentences[i][rank]}, i);
  }
}

// Where the model has a least length, no end may come before it, and the others share its probability.
TEST_P(given_results, have_the_models_least_length) {
  sample::options model = plain();
  model.min_length = 5;
  machine m(model);
  std::vector<tokens> lines = random_sources(24, 20);
  outcome found = generate(m.session, lines, defaults());
  rows targets;
  for (const auto &sentence : found.sentences)
    targets.add(sentence[0].ids);
  xf_generate_options given = defaults();
  set_targets(given, targets);
  outcome got = generate(m.session, lines, given);
  ASSERT_EQ(got.status, XF_OK) << xf_message();
  for (size_t i = 0; i < lines.size(); ++i)
    expect_same(got.sentences[i], {found.sentences[i][0]}, i);
  const rows early({{5, SAMPLE_END}});
  set_targets(given, early);
  got = generate(m.session, {lines[0]}, given);
  EXPECT_EQ(got.sentences[0][0].score, -INFINITY);
}

TEST_P(given_results, stand_behind_tabs) {
  machine m(plain());
  xf_generate_options options = defaults();
  options.line_targets = 1, options.length_penalty = 0;
  const char *lines[] = {"a b c\tC D", "d e\t", "d e", "d e\tX", "d e\tC\tD"};
  xf_lines *results = nullptr;
  ASSERT_EQ(xf_process_lines(m.session, lines, 5, 0, &options, &results), XF_OK) << xf_message();
  tokens first = {4, 5, 6}, second = {7, 8};
  EXPECT_NEAR(xf_line_score(results, 0, 0), summed(&first, {SAMPLE_START}, {6, 7, SAMPLE_END}), 1e-5);
  EXPECT_STREQ(xf_line_text(results, 0, 0), "C D");
  EXPECT_NEAR(xf_line_score(results, 1, 0), summed(&second, {SAMPLE_START}, {SAMPLE_END}), 1e-5);
  EXPECT_STREQ(xf_line_text(results, 1, 0), "");
  EXPECT_STREQ(xf_line_error(results, 2), "it has no tab, behind which its target would stand");
  EXPECT_STREQ(xf_line_error(results, 3), "its target: 'X' is not in the target vocabulary");
  EXPECT_STREQ(xf_line_error(results, 4), "it has more than one tab: what its target is, is not clear");
  xf_lines_free(results);
  options.line_prefixes = 1;
  EXPECT_EQ(xf_process_lines(m.session, lines, 5, 0, &options, &results), XF_INVALID_ARGUMENT);
  EXPECT_STREQ(xf_message(), "what stands behind a line's tab is its prefix or its target: line_prefixes and line_targets exclude each other");
}

TEST_P(given_results, are_refused_where_they_mean_nothing) {
  machine m(plain());
  const tokens ids(50, 3);
  auto message = [&](const tokens &target, auto change) {
    const rows given({target});
    return message_of(m.session, XF_INVALID_ARGUMENT, [&](xf_generate_options &o) { set_targets(o, given), change(o); });
  };
  auto nothing = [](auto &) {};
  EXPECT_EQ(message(tokens(3, 3), [](auto &o) { o.target_offsets = nullptr; }), "the targets' offsets are null");
  EXPECT_EQ(message({}, nothing), "sentence 0: its target has no tokens");
  EXPECT_EQ(message({3, 11}, nothing), "sentence 0: its target: there is no token 11; the last is 10");
  EXPECT_EQ(message(tokens(41, 3), nothing), "sentence 0: its target has 41 tokens; at most 40 are possible");
  EXPECT_EQ(message(tokens(40, 3), [&](auto &o) { o.prefix = ids.data(), o.prefix_count = 2; }),
            "sentence 0: its target has 40 tokens; at most 38 are possible");
  const std::string searched =
      "results that are given are scored as they are: beams, samples, lengths, repetitions, what may be chosen and streams mean nothing there";
  EXPECT_EQ(message(tokens(3, 3), [](auto &o) { o.beam = 2; }), searched);
  EXPECT_EQ(message(tokens(3, 3), [](auto &o) { o.sample = 1; }), searched);
  EXPECT_EQ(message(tokens(3, 3), [](auto &o) { o.max_length = 5; }), searched);
  EXPECT_EQ(message(tokens(3, 3), [](auto &o) { o.no_repeat_ngram = 2; }), searched);
  EXPECT_EQ(message(tokens(3, 3), [](auto &o) { o.alternatives = 1; }), "alternatives are searched for, neither drawn nor given");
  // What is of xf_process_lines means nothing here.
  xf_generate_options lines = defaults();
  lines.line_targets = lines.line_alignments = 1, lines.beam = 2;
  EXPECT_EQ(generate(m.session, {{5}}, lines).status, XF_OK) << xf_message();
}

// One first token each, then what a greedy search finds behind it.
std::vector<found> alternatives(const tokens *source, const tokens &prefix, sample::search o, int count) {
  std::set<int32_t> never;
  if (o.min_length > 0)
    never.insert(o.end);
  std::vector<double> p = sample::log_p(source, prefix, never);
  std::vector<int32_t> order;
  for (int32_t v = 0; v < SAMPLE_VOCABULARY; ++v)
    if (v != SAMPLE_START && v != SAMPLE_PAD) // of which nothing is written
      order.push_back(v);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return p[static_cast<size_t>(a)] > p[static_cast<size_t>(b)] + 1e-9; });
  std::vector<found> results;
  sample::search rest = o;
  rest.alpha = 0, --rest.max_length, rest.min_length = std::max(0, o.min_length - 1);
  for (int i = 0; i < count; ++i) {
    int32_t first = order[static_cast<size_t>(i)];
    found one = {{first}, p[static_cast<size_t>(first)]};
    if (first != o.end && rest.max_length > 0) {
      tokens read = prefix;
      read.push_back(first);
      found behind = sample::run(source, read, rest)[0];
      one.ids.insert(one.ids.end(), behind.ids.begin(), behind.ids.end());
      one.score += behind.score;
    }
    one.score /= std::pow(static_cast<double>(one.ids.size()), o.alpha);
    results.push_back(one);
  }
  std::stable_sort(results.begin(), results.end(), [](const found &x, const found &y) { return x.score > y.score + 1e-9; });
  return results;
}

TEST_P(given_results, begin_with_the_most_probable_tokens) {
  machine m(plain(), 3), alone(plain());
  std::vector<tokens> lines = random_sources(23, 40, true);
  for (int32_t count : {1, 2, 4})
    for (int32_t min_length : {0, 2}) {
      xf_generate_options options = defaults(count);
      options.alternatives = 1, options.min_length = min_length;
      outcome got = generate(m.session, lines, options);
      ASSERT_EQ(got.status, XF_OK) << xf_message();
      for (size_t i = 0; i < lines.size(); ++i) {
        sample::search o;
        o.min_length = min_length;
        o.max_length = static_cast<int>(std::min<size_t>(2 * lines[i].size() + 3, sample::kTarget));
        expect_same(got.sentences[i], alternatives(&lines[i], {SAMPLE_START}, o, count), i);
      }
      options.batch = 1;
      expect_same_bits(generate(alone.session, lines, options), got);
      if (count > 1)
        continue;
      options.scores = 0;
      outcome unscored = generate(m.session, lines, options);
      for (size_t i = 0; i < lines.size(); ++i)
        EXPECT_EQ(unscored.sentences[i][0].ids, got.sentences[i][0].ids) << i;
    }
}

INSTANTIATE_TEST_SUITE_P(steps, given_results, testing::Values(false, true));

} // namespace
