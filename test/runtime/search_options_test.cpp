// What searches may be asked for beside beams and lengths: prefixes, more end tokens, no repetitions, samples; where the host
// chooses, and where a step does.
#include "test/runtime/search_harness.h"

#include <cmath>
#include <map>
#include <set>

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
using sample::tokens;
using sample::with_start;

class search_options : public sample::both_steps {};

int longest(const tokens &source, size_t prefix) {
  return std::min<int>(static_cast<int>(2 * source.size() + 3), static_cast<int>(sample::kTarget - prefix + 1));
}

TEST_P(search_options, agree_with_the_reference) {
  const std::vector<int32_t> ends = {5, 9};
  for (sample::kind kind : {sample::kind::translator, sample::kind::sequence_first})
    for (int threads : {1, 3}) {
      machine m(plain(kind), threads);
      std::vector<tokens> sources = random_sources(11, 40, true);
      for (int beam : {1, 2, 4})
        for (int setting = 0; setting < 6; ++setting) {
          sample::search o;
          o.beam = o.best = beam;
          xf_generate_options options = defaults(beam);
          if (setting == 0 || setting == 4)
            options.repetition_penalty = o.repetition_penalty = 1.7;
          if (setting == 1 || setting == 4)
            options.no_repeat_ngram = static_cast<int32_t>(o.no_repeat_ngram = 2);
          if (setting == 2 || setting == 5) {
            options.ends = ends.data(), options.ends_count = 2;
            o.ends = {5, 9};
          }
          if (setting == 3)
            options.no_repeat_ngram = 1000; // nothing is forbidden, but the host chooses
          if (setting >= 4)
            options.min_length = o.min_length = 4;
          outcome got = generate(m.session, sources, options);
          ASSERT_EQ(got.status, XF_OK) << xf_message();
          for (size_t i = 0; i < sources.size(); ++i) {
            o.max_length = longest(sources[i], 1);
            expect_same(got.sentences[i], sample::run(&sources[i], {SAMPLE_START}, o), i);
          }
        }
    }
}

TEST_P(search_options, go_on_from_prefixes) {
  for (sample::kind kind : {sample::kind::translator, sample::kind::sequence_first})
    for (bool host : {false, true}) {
      machine m(plain(kind), 2);
      std::vector<tokens> sources = random_sources(12, 40), prefixes;
      std::mt19937 random(5);
      for (size_t i = 0; i < sources.size(); ++i) {
        tokens prefix = random_target(random, i % 7 == 0 ? 0 : random() % 39);
        if (i % 5 == 1 && !prefix.empty())
          prefix[0] = SAMPLE_START;
        prefixes.push_back(prefix);
      }
      const rows given(prefixes);
      for (int beam : {1, 3}) {
        xf_generate_options options = defaults(beam);
        set_prefixes(options, given);
        sample::search o;
        o.beam = o.best = beam;
        if (host)
          options.repetition_penalty = o.repetition_penalty = 1.3;
        options.prefix_counts = beam == 3 && !host;
        outcome got = generate(m.session, sources, options);
        ASSERT_EQ(got.status, XF_OK) << xf_message();
        for (size_t i = 0; i < sources.size(); ++i) {
          tokens read = with_start(prefixes[i]);
          o.counted = options.prefix_counts ? read.size() - 1 : 0;
          o.max_length = longest(sources[i], read.size());
          expect_same(got.sentences[i], sample::run(&sources[i], read, o), i);
        }
      }
    }
}

TEST_P(search_options, go_on_while_beams_may_become_better) {
  size_t different = 0;
  for (sample::kind kind : {sample::kind::translator, sample::kind::sequence_first}) {
    machine m(plain(kind), 2);
    std::vector<tokens> sources = random_sources(19, 40);
    for (double alpha : {0.5, 1.0, 2.0}) {
      xf_generate_options options = defaults(3);
      options.n_best = 3, options.length_penalty = alpha;
      outcome early = generate(m.session, sources, options);
      options.early_stopping = 0;
      outcome got = generate(m.session, sources, options);
      ASSERT_EQ(got.status, XF_OK) << xf_message();
      sample::search o;
      o.beam = o.best = 3, o.alpha = alpha, o.early_stopping = false;
      for (size_t i = 0; i < sources.size(); ++i) {
        o.max_length = longest(sources[i], 1);
        expect_same(got.sentences[i], sample::run(&sources[i], {SAMPLE_START}, o), i);
        different += got.sentences[i].size() != early.sentences[i].size() || got.sentences[i][0].ids != early.sentences[i][0].ids;
      }
    }
  }
  EXPECT_GT(different, 0u);
}

TEST_P(search_options, count_prefixes_by_their_offsets_alone) {
  machine m(plain());
  const std::vector<int32_t> prefix = {6, 7};
  const std::vector<int64_t> own = {0, 2, 2}, none = {0, 0, 0};
  std::vector<tokens> sources = random_sources(17, 2);
  xf_generate_options options = defaults(), redundant = defaults();
  options.prefix = redundant.prefix = prefix.data(), options.prefix_offsets = redundant.prefix_offsets = own.data();
  redundant.prefix_count = -7;
  expect_same_bits(generate(m.session, sources, redundant), generate(m.session, sources, options));
  redundant.prefix = nullptr, redundant.prefix_offsets = none.data(), redundant.prefix_count = 2;
  outcome got = generate(m.session, sources, redundant);
  EXPECT_EQ(got.status, XF_OK) << xf_message();
  expect_same_bits(got, generate(m.session, sources, defaults()));
}

TEST_P(search_options, share_a_prefix) {
  machine m(plain());
  const std::vector<int32_t> prefix = {6, 7};
  xf_generate_options options = defaults();
  options.prefix = prefix.data(), options.prefix_count = 2;
  std::vector<tokens> sources = random_sources(13, 10);
  outcome got = generate(m.session, sources, options);
  ASSERT_EQ(got.status, XF_OK) << xf_message();
  sample::search o;
  for (size_t i = 0; i < sources.size(); ++i) {
    o.max_length = longest(sources[i], 3);
    expect_same(got.sentences[i], sample::run(&sources[i], {SAMPLE_START, 6, 7}, o), i);
  }
  // The same for inputs that the caller lays out.
  sources = {{5, 6, 7}, {8, 9, 8}};
  got = generate_from(m.session, sources, options);
  ASSERT_EQ(got.status, XF_OK) << xf_message();
  for (size_t b = 0; b < 2; ++b) {
    o.max_length = 9;
    expect_same(got.sentences[b], sample::run(&sources[b], {SAMPLE_START, 6, 7}, o), b);
  }
  const std::vector<int32_t> unknown = {6, 11};
  options.prefix = unknown.data();
  EXPECT_EQ(generate_from(m.session, sources, options).status, XF_INVALID_ARGUMENT);
  EXPECT_STREQ(xf_message(), "sentence 0: its prefix: there is no token 11; the last is 10");
}

TEST_P(search_options, take_lines_with_their_prefixes) {
  machine m(plain());
  xf_generate_options options = defaults();
  options.line_prefixes = 1;
  const std::vector<int32_t> ids = {6, 7};
  const rows prefixes({ids, {}, {}});
  xf_generate_options given = defaults();
  set_prefixes(given, prefixes);
  outcome wanted = generate(m.session, {{4, 5, 6}, {7, 8}, {7, 8}}, given);
  const char *lines[] = {"a b c\tC D", "d e", "d e\t", "d e\tX", "\tC"};
  xf_lines *results = nullptr;
  ASSERT_EQ(xf_process_lines(m.session, lines, 5, 0, &options, &results), XF_OK) << xf_message();
  static const char *names[] = {"", "", "", "<unk>", "A", "B", "C", "D", "Ö", "E", "<unk>"};
  for (int line = 0; line < 3; ++line) {
    std::string text;
    for (int32_t id : wanted.sentences[static_cast<size_t>(line)][0].ids)
      if (id > 2)
        text += (text.empty() ? "" : " ") + std::string(names[id]);
    EXPECT_EQ(xf_line_text(results, line, 0), text) << line;
  }
  EXPECT_STREQ(xf_line_error(results, 3), "its prefix: 'X' is not in the target vocabulary");
  EXPECT_STREQ(xf_line_error(results, 4), "it is empty");
  xf_lines_free(results);
  EXPECT_EQ(xf_process_lines(m.session, lines, 5, 0, &given, &results), XF_INVALID_ARGUMENT);
  EXPECT_STREQ(xf_message(), "lines have their prefixes behind a tab (line_prefixes), not as tokens");
  options.prefix = ids.data(), options.prefix_count = 2;
  EXPECT_EQ(xf_process_lines(m.session, lines, 5, 0, &options, &results), XF_INVALID_ARGUMENT);
  EXPECT_STREQ(xf_message(), "a prefix for all lines, or one on each: prefix and line_prefixes exclude each other");
}

TEST_P(search_options, draw_tokens_by_their_probability) {
  machine m(plain());
  tokens source = {5, 9, 14};
  std::vector<double> log_p = sample::log_p(&source, {SAMPLE_START}, {});
  struct setting {
    double temperature;
    int32_t top_k;
    double top_p;
    double min_p = 0;
  };
  for (auto [temperature, top_k, top_p, min_p] :
       {setting{1, 0, 1}, {0.3, 0, 1}, {4, 0, 1}, {1, 3, 1}, {1, 0, 0.6}, {1, 4, 0.8}, {1, 0, 1, 0.6}, {2, 4, 1, 0.8}, {1, 0, 0.9, 0.6}}) {
    std::vector<int32_t> order(SAMPLE_VOCABULARY);
    for (int32_t v = 0; v < SAMPLE_VOCABULARY; ++v)
      order[static_cast<size_t>(v)] = v;
    auto logit = [&](int32_t v) { return std::round(log_p[static_cast<size_t>(v)] * 8 * 1e6) / 8e6; }; // ties are ties
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return logit(a) > logit(b); });
    if (top_k > 0)
      order.resize(static_cast<size_t>(top_k));
    double all = 0, kept = 0;
    for (int32_t v : order)
      all += std::exp(logit(v) / temperature);
    std::map<int32_t, double> expected;
    for (int32_t v : order)
      if (kept < top_p * all && std::exp((logit(v) - logit(order[0])) / temperature) >= min_p)
        kept += expected[v] = std::exp(logit(v) / temperature);
    std::map<int32_t, int> counts;
    constexpr int kSeeds = 2000;
    for (int seed = 0; seed < kSeeds; ++seed) {
      xf_generate_options options = defaults(4);
      options.sample = 1, options.max_length = 1, options.seed = static_cast<uint64_t>(seed);
      options.temperature = temperature, options.top_k = top_k, options.top_p = top_p, options.min_p = min_p;
      outcome got = generate(m.session, {source}, options);
      ASSERT_EQ(got.status, XF_OK) << xf_message();
      ASSERT_EQ(got.sentences[0].size(), 4u);
      for (const sample::found &one : got.sentences[0]) {
        ++counts[one.ids[0]];
        EXPECT_NEAR(one.score, log_p[static_cast<size_t>(one.ids[0])], 1e-6);
      }
    }
    double deviation = 0;
    for (auto [token, weight] : expected) {
      double mean = weight / kept * 4 * kSeeds;
      deviation += (counts[token] - mean) * (counts[token] - mean) / mean;
    }
    for (auto [token, count] : counts)
      EXPECT_TRUE(expected.count(token)) << token;
    EXPECT_LT(deviation, 36) << temperature << " " << top_k << " " << top_p << " " << min_p; // 10 degrees of freedom: once in 10,000
  }
}

TEST_P(search_options, draw_whole_results) {
  sample::options continuer = plain(sample::kind::continuer);
  continuer.max_length_per_source = 0, continuer.max_length_base = 12;
  for (const sample::options &model : {plain(), continuer}) {
    bool source = model.model == sample::kind::translator;
    machine m(model, 2);
    std::vector<tokens> sources = random_sources(14, 30);
    for (tokens &ids : sources)
      for (int32_t &id : ids)
        id = source ? id : 3 + id % (SAMPLE_VOCABULARY - 3);
    xf_generate_options options = defaults(4);
    options.sample = 1, options.length_penalty = 0, options.min_length = 2;
    outcome got = generate(m.session, sources, options);
    ASSERT_EQ(got.status, XF_OK) << xf_message();
    std::set<tokens> different;
    for (size_t i = 0; i < sources.size(); ++i) {
      ASSERT_EQ(got.sentences[i].size(), 4u);
      for (const sample::found &one : got.sentences[i]) {
        tokens read = {SAMPLE_START};
        if (!source)
          read.insert(read.end(), sources[i].begin(), sources[i].end());
        double sum = 0;
        for (size_t k = 0; k < one.ids.size(); ++k) {
          std::set<int32_t> never;
          if (k < 2)
            never.insert(SAMPLE_END);
          sum += sample::log_p(source ? &sources[i] : nullptr, read, never)[static_cast<size_t>(one.ids[k])];
          read.push_back(one.ids[k]);
          EXPECT_EQ(one.ids[k] == SAMPLE_END, k + 1 == one.ids.size() && one.ids[k] == SAMPLE_END);
        }
        EXPECT_NEAR(one.score, sum, 1e-5);
        different.insert(one.ids);
      }
      EXPECT_TRUE(std::is_sorted(got.sentences[i].begin(), got.sentences[i].end(),
                                 [](const sample::found &x, const sample::found &y) { return x.score > y.score; }));
    }
    EXPECT_GT(different.size(), 60u);
    options.seed = 1;
    outcome other = generate(m.session, sources, options);
    EXPECT_NE(got.sentences[0][0].ids, other.sentences[0][0].ids);
  }
}

TEST_P(search_options, give_the_same_bits_in_any_company) {
  std::vector<tokens> sources = random_sources(15, 30, true);
  for (bool samples : {false, true}) {
    xf_generate_options options = defaults(3);
    options.sample = samples, options.top_p = 0.9, options.temperature = 1.2, options.seed = 3;
    options.repetition_penalty = 1.2, options.no_repeat_ngram = 3;
    options.batch = 1;
    machine one(plain());
    outcome alone = generate(one.session, sources, options);
    for (int threads : {1, 2, 3, 7}) {
      auto many = machine::per_thread(plain(), threads);
      for (int batch : {0, 2, 3}) {
        options.batch = batch;
        outcome got = generate(many->session, sources, options);
        expect_same_bits(got, alone);
      }
    }
  }
}

TEST_P(search_options, tell_tokens_as_they_are_chosen) {
  machine m(plain(), 2);
  std::vector<tokens> sources = random_sources(16, 40, true);
  for (bool samples : {false, true}) {
    std::vector<tokens> received(sources.size());
    xf_generate_options options = defaults();
    options.sample = samples;
    options.on_token = [](void *context, int64_t sentence, int32_t token) {
      (*static_cast<std::vector<tokens> *>(context))[static_cast<size_t>(sentence)].push_back(token);
    };
    options.token_context = &received;
    outcome got = generate(m.session, sources, options);
    ASSERT_EQ(got.status, XF_OK) << xf_message();
    for (size_t i = 0; i < sources.size(); ++i)
      EXPECT_EQ(received[i], got.sentences[i][0].ids);
    options.beam = 2;
    EXPECT_EQ(generate(m.session, sources, options).status, XF_INVALID_ARGUMENT);
    EXPECT_STREQ(xf_message(), "tokens are told as they are chosen with one beam, not with 2");
  }
}

TEST_P(search_options, refuse_what_cannot_be_served) {
  machine m(plain());
  auto message = [&](auto change) { return message_of(m.session, XF_INVALID_ARGUMENT, change); };
  const std::vector<int32_t> token = {11}, many(40, 3);
  const std::vector<int64_t> descending = {3, 2};
  EXPECT_EQ(message([&](auto &o) { o.ends = token.data(), o.ends_count = 1; }), "a token that ends results must be between 0 and 10, not 11");
  EXPECT_EQ(message([&](auto &o) { o.ends_count = 1; }), "the tokens that end results are null");
  EXPECT_EQ(message([&](auto &o) { o.prefix_count = 1; }), "the prefix is null");
  EXPECT_EQ(message([&](auto &o) { o.prefix = token.data(), o.prefix_offsets = descending.data(); }),
            "the prefixes' offsets descend, or are negative: number 0 is 3, the next 2");
  const std::vector<int64_t> some = {0, 1};
  EXPECT_EQ(message([&](auto &o) { o.prefix_offsets = some.data(); }), "the prefixes are null");
  EXPECT_EQ(message([&](auto &o) { o.prefix = token.data(), o.prefix_count = 1; }), "sentence 0: its prefix: there is no token 11; the last is 10");
  EXPECT_EQ(message([&](auto &o) { o.prefix = many.data(), o.prefix_count = 40; }), "sentence 0: its prefix has 40 tokens; at most 39 are possible");
  EXPECT_EQ(message([](auto &o) { o.no_repeat_ngram = -1; }), "the number of tokens that are not to be repeated must not be negative, as -1 is");
  for (double bad : {0.0, -1.0, 1e9, std::nan("")}) {
    EXPECT_EQ(message([&](auto &o) { o.repetition_penalty = bad; }).rfind("the repetition penalty must be between 0.01 and 100, not ", 0), 0u);
    EXPECT_EQ(message([&](auto &o) { o.sample = 1, o.temperature = bad; }).rfind("the temperature must be between 0.01 and 100, not ", 0), 0u);
    EXPECT_EQ(
        message([&](auto &o) { o.sample = 1, o.top_p = bad; }).rfind("the share of probability to draw from must be above 0 and at most 1, not ", 0),
        0u);
    if (bad != 0)
      EXPECT_EQ(message([&](auto &o) {
                  o.sample = 1, o.min_p = bad;
                }).rfind("how probable a drawn token is at least, of the likeliest, must be between 0 and 1, not ", 0),
                0u);
  }
  EXPECT_EQ(message([](auto &o) { o.sample = 1, o.top_k = -2; }), "the number of tokens to draw from must not be negative, as -2 is");

  machine continuer(plain(sample::kind::continuer));
  EXPECT_EQ(message_of(continuer.session, XF_INVALID_ARGUMENT, [&](auto &o) { o.prefix = many.data(), o.prefix_count = 1; }),
            "the model continues prompts: what results begin with belongs there");
  EXPECT_EQ(message_of(continuer.session, XF_INVALID_ARGUMENT, [&](auto &o) { o.prefix_counts = 1; }),
            "the model continues prompts, which no length counts");
}

TEST_P(search_options, draw_the_same_with_and_without_padding) {
  machine m(plain());
  xf_generate_options options = defaults(4);
  options.sample = 1, options.temperature = 3, options.max_length = 8;
  outcome got = generate(m.session, {{5, 9, 14}, {5, 9, 14, 0}, {5, 9, 14, 0, 0}}, options);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(got.sentences[0][i].ids, got.sentences[1][i].ids);
    EXPECT_EQ(got.sentences[0][i].ids, got.sentences[2][i].ids);
  }
  outcome given = generate_from(m.session, {{5, 9, 14, 0}, {7, 8, 9, 9}}, options);
  ASSERT_EQ(given.status, XF_OK) << xf_message();
  for (size_t i = 0; i < 4; ++i)
    EXPECT_EQ(got.sentences[0][i].ids, given.sentences[0][i].ids);
}

// Encoding knows nothing of the search before it.
TEST_P(search_options, do_not_outlive_their_search) {
  machine m(plain());
  {
    std::vector<int32_t> prefix(30, 3);
    auto options = std::make_unique<xf_generate_options>(defaults());
    options->prefix = prefix.data(), options->prefix_count = 30;
    EXPECT_EQ(generate(m.session, {{5}}, *options).status, XF_OK);
  }
  std::vector<int32_t> ids = {5, 6};
  std::vector<int64_t> offsets = {0, 2};
  xf_encoding_info info = {sizeof(info), 0, 0};
  ASSERT_EQ(xf_get_encoding_info(m.session, &info), XF_OK) << xf_message();
  std::vector<float> rows(static_cast<size_t>(2 * info.width));
  EXPECT_EQ(xf_encode(m.session, ids.data(), offsets.data(), 1, rows.data(), 2 * info.width), XF_OK) << xf_message();
}

INSTANTIATE_TEST_SUITE_P(steps, search_options, testing::Values(false, true));

} // namespace
