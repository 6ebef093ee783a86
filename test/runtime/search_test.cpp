// Search against the reference, for every setting, and the same bits whatever the batch and the threads; with a step that
// gives logits, and with one that chooses.
#include "test/runtime/search_harness.h"

#include <cmath>

namespace {

using sample::defaults;
using sample::expect_same;
using sample::expect_same_bits;
using sample::generate;
using sample::generate_from;
using sample::machine;
using sample::message_of;
using sample::outcome;
using sample::random_sources;
using sample::random_target;
using sample::rows;
using sample::set_prefixes;
using sample::set_targets;
using sample::tokens;
using sample::with_start;

class search : public sample::both_steps {};

TEST_P(search, agrees_with_the_reference) {
  for (sample::kind kind : {sample::kind::translator, sample::kind::sequence_first}) {
    machine m(plain(kind));
    std::vector<tokens> sources = random_sources(1, 60, true);
    for (int beam = 1; beam <= sample::kBeam; ++beam)
      for (double alpha : {1.0, 0.0, 0.6})
        for (int setting = 0; setting < 4; ++setting) {
          sample::search o;
          o.beam = o.best = beam;
          o.alpha = alpha;
          xf_generate_options options = defaults(beam);
          options.length_penalty = alpha;
          std::vector<int32_t> never = {4, 7};
          if (setting == 1)
            options.min_length = o.min_length = 6;
          if (setting == 2)
            options.max_length = 3;
          if (setting == 3) {
            o.suppress = {4, 7};
            options.suppress = never.data();
            options.suppress_count = 2;
          }
          outcome got = generate(m.session, sources, options);
          ASSERT_EQ(got.status, XF_OK) << xf_message();
          for (size_t i = 0; i < sources.size(); ++i) {
            o.max_length = setting == 2 ? 3 : static_cast<int>(2 * sources[i].size() + 3);
            o.min_length = setting == 1 ? std::min(6, o.max_length) : 0;
            expect_same(got.sentences[i], sample::run(&sources[i], {SAMPLE_START}, o), i);
          }
        }
  }
}

TEST_P(search, gives_lines_the_scores_of_their_sentences) {
  machine m(plain());
  xf_generate_options options = defaults(2);
  outcome wanted = generate(m.session, {{4, 5, 6}, {7, 8}}, options);
  ASSERT_EQ(wanted.status, XF_OK) << xf_message();
  const char *lines[] = {"4 5 6", "", "7 8"};
  xf_lines *results = nullptr;
  ASSERT_EQ(xf_process_lines(m.session, lines, 3, 1, &options, &results), XF_OK) << xf_message();
  for (int line : {0, 2}) {
    const std::vector<sample::found> &found = wanted.sentences[static_cast<size_t>(line / 2)];
    ASSERT_EQ(xf_line_results(results, line), static_cast<int32_t>(found.size()));
    for (size_t i = 0; i < found.size(); ++i)
      EXPECT_EQ(xf_line_score(results, line, static_cast<int32_t>(i)), found[i].score);
  }
  EXPECT_EQ(xf_line_score(results, 1, 0), 0);
  EXPECT_EQ(xf_line_score(results, 0, 2), 0);
  xf_lines_free(results);
}

TEST_P(search, gives_the_same_bits_in_any_company) {
  sample::options model = plain();
  std::vector<tokens> sources = random_sources(2, 50, true);
  xf_generate_options options = defaults(3);
  options.batch = 1;
  machine one(model);
  outcome alone = generate(one.session, sources, options);
  for (auto [threads, per_thread] : {std::pair{1, false}, {2, false}, {3, false}, {7, false}, {1, true}, {2, true}, {3, true}, {7, true}}) {
    auto many = per_thread ? machine::per_thread(model, threads) : std::make_unique<machine>(model, threads);
    for (int batch : {0, 1, 2, 3}) {
      options.batch = batch;
      outcome got = generate(many->session, sources, options);
      expect_same_bits(got, alone);
    }
  }
}

TEST_P(search, without_padding_batches_equal_lengths_only) {
  sample::options model = plain();
  model.pad = -1;
  machine m(model);
  std::vector<tokens> sources = random_sources(3, 40);
  outcome got = generate(m.session, sources, defaults());
  ASSERT_EQ(got.status, XF_OK) << xf_message();
  for (size_t i = 0; i < sources.size(); ++i) {
    sample::search o;
    o.max_length = static_cast<int>(2 * sources[i].size() + 3);
    expect_same(got.sentences[i], sample::run(&sources[i], {SAMPLE_START}, o), i);
  }
}

TEST_P(search, measures_the_longest_result_without_padding) {
  sample::options model = plain();
  model.end = -1;
  machine m(model);
  outcome got = generate(m.session, {{5, 6, 7, 0, 0, 0}, {5, 6, 7}}, defaults());
  EXPECT_EQ(got.sentences[0][0].ids.size(), 9u);
  EXPECT_EQ(got.sentences[0][0].ids, got.sentences[1][0].ids);
}

TEST_P(search, fills_the_target_limit_where_the_model_gives_none) {
  sample::options model = plain();
  model.end = -1;
  model.max_length_per_source = model.max_length_base = 0;
  machine m(model);
  EXPECT_EQ(generate(m.session, {{5, 6, 7}}, defaults()).sentences[0][0].ids.size(), size_t(sample::kTarget));
  model.model = sample::kind::continuer;
  machine c(model);
  // The start token and three of the prompt come first; the last token is never read.
  EXPECT_EQ(generate(c.session, {{5, 6, 7}}, defaults()).sentences[0][0].ids.size(), size_t(sample::kTarget) - 3);
}

TEST_P(search, continues_prompts_of_any_length_together) {
  sample::options model = plain(sample::kind::continuer);
  model.max_length_per_source = 0;
  model.max_length_base = 9;
  for (int threads : {1, 2}) {
    machine m(model, threads);
    std::mt19937 random(4);
    std::vector<tokens> prompts;
    for (int i = 0; i < 30; ++i) {
      tokens prompt = random_target(random, 1 + random() % 30);
      if (i % 3 == 0)
        prompt[0] = SAMPLE_START; // already there: not put in front again
      prompts.push_back(prompt);
    }
    for (int beam : {1, 3}) {
      outcome got = generate(m.session, prompts, defaults(beam));
      ASSERT_EQ(got.status, XF_OK) << xf_message();
      for (size_t i = 0; i < prompts.size(); ++i) {
        tokens prefix = with_start(prompts[i]);
        sample::search o;
        o.beam = o.best = beam;
        o.max_length = std::min<int>(9, static_cast<int>(sample::kTarget - prefix.size() + 1));
        expect_same(got.sentences[i], sample::run(nullptr, prefix, o), i);
      }
    }
  }
}

TEST_P(search, takes_the_models_own_inputs) {
  machine m(plain());
  const std::vector<tokens> sources = {{5, 0, 6, 7}, {8, 9, 0, 0}}; // padding in the middle and at the end
  xf_generate_options options = defaults();
  options.max_length = 6;
  outcome got = generate_from(m.session, sources, options);
  ASSERT_EQ(got.status, XF_OK) << xf_message();
  for (size_t b = 0; b < 2; ++b) {
    sample::search o;
    o.max_length = 6;
    expect_same(got.sentences[b], sample::run(&sources[b], {SAMPLE_START}, o), b);
  }
  EXPECT_EQ(generate_from(m.session, sources, options, "source").status, XF_INVALID_ARGUMENT);
  EXPECT_STREQ(xf_message(), "entry 'encode' has no input 'source'; it has: src");
}

TEST_P(search, goes_on_where_one_of_the_models_own_inputs_is_refused) {
  machine m(plain(), 2);
  const std::vector<tokens> sources = {{5, 6, 7}, {0, 0, 0}, {8, 9, 0}, {5, 8, 4}};
  const rows prefixes({{6}, {6}, {11}, {7}}), targets({{6, 7}, {6, 7}, {6, 2}, {}});
  for (bool scored : {false, true}) {
    xf_generate_options options = defaults();
    if (scored)
      set_targets(options, targets);
    else
      set_prefixes(options, prefixes);
    outcome got = generate_from(m.session, sources, options);
    EXPECT_EQ(got.status, XF_INVALID_ARGUMENT);
    EXPECT_STREQ(xf_message(), "sentence 1: it has nothing but padding");
    expect_same_bits(got, generate(m.session, sources, options));
    for (size_t b = 0; b < 4; ++b)
      EXPECT_EQ(got.sentences[b].size(), b == 0 || (scored ? b == 2 : b == 3) ? 1u : 0u) << b;
  }
}

TEST_P(search, holds_an_input_that_two_entries_share_to_both_bounds) {
  for (auto [encode, begin] : {std::pair{30, 20}, {20, 30}, {0, 20}, {20, 0}}) {
    sample::options model = plain();
    model.source_bound = encode, model.begin_bound = begin;
    machine m(model);
    EXPECT_EQ(generate(m.session, {{19}}, defaults()).status, XF_OK) << xf_message();
    EXPECT_EQ(generate(m.session, {{20}}, defaults()).status, XF_INVALID_ARGUMENT);
    EXPECT_STREQ(xf_message(), "sentence 0: there is no token 20; the last is 19");
    xf_tensor_info info;
    ASSERT_EQ(xf_source_info(m.model, 0, &info), XF_OK);
    EXPECT_EQ(info.bound, 20);
    EXPECT_EQ(generate_from(m.session, {{5, 20}}, defaults()).status, XF_INVALID_ARGUMENT);
    EXPECT_STREQ(xf_message(), "input 'src' holds 20 at position 1; values go from 0 to 19");
  }
}

TEST_P(search, refuses_bad_sentences_and_goes_on) {
  machine m(plain());
  std::vector<tokens> sources = {{5}, {}, {0, 0}, tokens(13, 5), {30}, {-1}, {6}};
  outcome got = generate(m.session, sources, defaults());
  EXPECT_EQ(got.status, XF_INVALID_ARGUMENT);
  EXPECT_STREQ(xf_message(), "sentence 1: it has no tokens");
  for (size_t i = 0; i < sources.size(); ++i)
    EXPECT_EQ(got.sentences[i].size(), i == 0 || i == 6 ? 1u : 0u) << i;
  auto message = [&](tokens source) {
    EXPECT_EQ(generate(m.session, {source}, defaults()).status, XF_INVALID_ARGUMENT);
    return std::string(xf_message());
  };
  EXPECT_EQ(message({0, 0}), "sentence 0: it has nothing but padding");
  EXPECT_EQ(message(tokens(13, 5)), "sentence 0: it has 13 tokens; at most 12 are possible");
  EXPECT_EQ(message({30}), "sentence 0: there is no token 30; the last is 29");
}

TEST_P(search, refuses_sources_that_are_too_small) {
  sample::options model = plain();
  model.min_source = 3;
  machine m(model);
  outcome got = generate(m.session, {{5, 6, 7}, {5}, {5, 6}, {5, 6, 7, 8}}, defaults());
  EXPECT_EQ(got.status, XF_INVALID_ARGUMENT);
  EXPECT_STREQ(xf_message(), "sentence 1: it has 1 token; at least 3 are needed");
  for (size_t i = 0; i < 4; ++i)
    EXPECT_EQ(got.sentences[i].size(), i == 0 || i == 3 ? 1u : 0u) << i;
  EXPECT_EQ(generate_from(m.session, {{5, 6}}, defaults()).status, XF_INVALID_ARGUMENT);
  EXPECT_STREQ(xf_message(), "input 'src' has size 2 in dimension S; at least 3 is needed");

  model.min_source = 0, model.min_batch = 2;
  machine several(model);
  EXPECT_EQ(generate(several.session, {{5}, {6}}, defaults()).status, XF_UNSUPPORTED);
  EXPECT_STREQ(xf_message(), "the model needs 2 sentences at once: it cannot be searched");
}

TEST_P(search, says_when_no_token_is_left) {
  machine m(plain());
  std::vector<int32_t> all;
  for (int32_t v = 0; v < SAMPLE_VOCABULARY; ++v)
    all.push_back(v);
  xf_generate_options options = defaults();
  options.suppress = all.data();
  options.suppress_count = SAMPLE_VOCABULARY;
  EXPECT_EQ(generate(m.session, {{5}}, options).status, XF_INVALID_ARGUMENT);
  EXPECT_STREQ(xf_message(), "sentence 0: no token is left that may be chosen");
}

TEST_P(search, refuses_options_beyond_the_limits) {
  machine m(plain());
  auto message = [&](auto change, xf_status status = XF_INVALID_ARGUMENT) { return message_of(m.session, status, change); };
  EXPECT_EQ(message([](auto &o) { o.beam = 5; }, XF_LIMIT), "the number of beams must be between 1 and 4, not 5");
  EXPECT_EQ(message([](auto &o) { o.beam = 0; }), "the number of beams must be between 1 and 4, not 0");
  EXPECT_EQ(message([](auto &o) { o.n_best = 2; }), "the number of results of a line (at most the number of beams) must be between 1 and 1, not 2");
  EXPECT_EQ(message([](auto &o) { o.batch = 5; }, XF_LIMIT), "the batch must be between 1 and 4, not 5");
  EXPECT_EQ(message([](auto &o) { o.max_length = 41; }, XF_LIMIT), "the maximum length must be between 1 and 40, not 41");
  EXPECT_EQ(message([](auto &o) { o.min_length = 5, o.max_length = 4; }), "the minimum length 5 is above the maximum length 4");
  for (double bad : {-21.0, 20.5, static_cast<double>(NAN)})
    EXPECT_EQ(message([&](auto &o) { o.length_penalty = bad; }).rfind("the length penalty must be between -20 and 20, not ", 0), 0u);
  // No struct ends within a pointer.
  for (size_t size : {sizeof(xf_generate_options) - 3, offsetof(xf_generate_options, suppress) + 4, size_t{0}, size_t{5000}})
    EXPECT_EQ(message([&](auto &o) { o.size = size; }), "the options' size is not set");
}

TEST(lines, are_none_of_them_null) {
  machine m({});
  const char *lines[] = {"a", nullptr};
  xf_lines *results = nullptr;
  EXPECT_EQ(xf_process_lines(m.session, lines, 2, 0, nullptr, &results), XF_INVALID_ARGUMENT);
  EXPECT_STREQ(xf_message(), "line 1 is null");
}

TEST(predictions, refuse_batches_beyond_the_limit) {
  sample::options o;
  o.model = sample::kind::pooler;
  machine m(o);
  const char *line = "a b";
  for (auto [batch, status] : {std::pair(5, XF_LIMIT), {-1, XF_INVALID_ARGUMENT}}) {
    xf_generate_options options = defaults();
    options.batch = batch;
    xf_lines *results = nullptr;
    EXPECT_EQ(xf_process_lines(m.session, &line, 1, 0, &options, &results), status);
    EXPECT_EQ(xf_message(), "the batch must be between 1 and 4, not " + std::to_string(batch));
  }
}

INSTANTIATE_TEST_SUITE_P(steps, search, testing::Values(false, true));

} // namespace
