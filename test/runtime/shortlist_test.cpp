// Shortlists: searches that choose among what the source's tokens bring, and tables that are wrong.
#include "test/runtime/search_harness.h"

#include <cstdio>
#include <set>

#include <unistd.h>

namespace {

using sample::defaults;
using sample::expect_same;
using sample::generate;
using sample::generate_from;
using sample::machine;
using sample::outcome;
using sample::random_sources;
using sample::tokens;

std::string write_table(const std::string &text) {
  std::string path = testing::TempDir() + "shortlist-" + std::to_string(getpid());
  sample::write_file(path, std::vector<uint8_t>(text.begin(), text.end()));
  return path;
}

class shortlists : public sample::both_steps {};

TEST_P(shortlists, allow_what_the_source_tokens_bring) {
  sample::options model = plain();
  // Every sentence may end and use 4; token v of the source brings 3 + v mod 7, and odd ones 3 + v mod 5.
  std::string text = "\t4\r\n\n";
  auto brings = [](int32_t v) {
    std::set<int32_t> targets = {3 + v % 7};
    if (v % 2)
      targets.insert(3 + v % 5);
    return targets;
  };
  for (int32_t v = sample::kSourceBound - 1; v > 0; --v)
    for (int32_t target : brings(v))
      text += std::to_string(v) + "\t" + std::to_string(target) + "\n";
  std::string path = write_table(text);
  std::vector<tokens> sources = random_sources(6, 40, true);
  for (int beam : {1, 3})
    for (int threads : {1, 3}) {
      machine m(model, threads);
      xf_shortlist *list = nullptr;
      ASSERT_EQ(xf_shortlist_open(m.model, path.c_str(), 1, &list), XF_OK) << xf_message();
      xf_generate_options options = defaults(beam);
      options.shortlist = list;
      for (int batch : {0, 1, 3}) {
        options.batch = batch;
        outcome got = generate(m.session, sources, options);
        ASSERT_EQ(got.status, XF_OK) << xf_message();
        for (size_t i = 0; i < sources.size(); ++i) {
          sample::search o;
          o.beam = o.best = beam;
          o.max_length = static_cast<int>(2 * sources[i].size() + 3);
          std::set<int32_t> allowed = {SAMPLE_END, 4};
          for (int32_t v : sources[i])
            if (v > 0)
              allowed.merge(brings(v));
          for (int32_t v = 0; v < SAMPLE_VOCABULARY; ++v)
            if (!allowed.count(v))
              o.suppress.insert(v);
          expect_same(got.sentences[i], sample::run(&sources[i], {SAMPLE_START}, o), i);
        }
      }
      xf_shortlist_free(list);
    }
  std::remove(path.c_str());
}

// What fills up a row is not of its sentence: a line that the table has for padding counts where that stands between tokens alone.
TEST_P(shortlists, count_no_padding_behind_a_sentence) {
  machine m(plain());
  std::string path = write_table("\t4\n0\t7 8 9\n5\t3\n6\t5\n");
  xf_shortlist *list = nullptr;
  ASSERT_EQ(xf_shortlist_open(m.model, path.c_str(), 1, &list), XF_OK) << xf_message();
  xf_generate_options options = defaults(2);
  options.shortlist = list;
  outcome plain = generate(m.session, {{5, 6}}, options), padded = generate(m.session, {{5, 6, 0, 0}}, options);
  ASSERT_EQ(padded.status, XF_OK) << xf_message();
  sample::expect_same_bits(padded, plain);
  sample::expect_same_bits(generate_from(m.session, {{5, 6, 0, 0}}, options), plain);
  EXPECT_NE(generate(m.session, {{5, 0, 0, 6}}, options).sentences[0][0].ids, plain.sentences[0][0].ids);
  xf_shortlist_free(list);
  std::remove(path.c_str());
}

INSTANTIATE_TEST_SUITE_P(steps, shortlists, testing::Values(false, true));

// Sources that the model does not look up may hold any number.
TEST(shortlist, knows_nothing_of_tokens_that_there_are_not) {
  sample::options model;
  model.chooses = true;
  model.source_bound = 0;
  machine m(model);
  std::string path = write_table("\t4 5\n");
  xf_shortlist *list = nullptr;
  ASSERT_EQ(xf_shortlist_open(m.model, path.c_str(), 1, &list), XF_OK) << xf_message();
  xf_generate_options options = defaults();
  options.shortlist = list;
  EXPECT_EQ(generate_from(m.session, {{INT32_MIN, -1, INT32_MAX, 5}}, options).status, XF_OK) << xf_message();
  xf_shortlist_free(list);
  std::remove(path.c_str());
}

TEST(shortlist, says_what_is_wrong_with_it) {
  sample::options model;
  model.chooses = true;
  machine m(model);
  auto message = [&](const xf_model *of, const std::string &text, int32_t ids, xf_status status) {
    std::string path = write_table(text);
    xf_shortlist *list = nullptr;
    EXPECT_EQ(xf_shortlist_open(of, path.c_str(), ids, &list), status);
    std::remove(path.c_str());
    std::string said = xf_message();
    return said.compare(0, path.size(), path) == 0 ? said.substr(path.size()) : said;
  };
  EXPECT_EQ(message(m.model, "5\t6\n7 8\n", 1, XF_INVALID_ARGUMENT), ":2: no tab stands between the source token and its targets");
  EXPECT_EQ(message(m.model, "5\t11\n", 1, XF_INVALID_ARGUMENT), ":1: the model has no target token '11'");
  EXPECT_EQ(message(m.model, "30\t5\n", 1, XF_INVALID_ARGUMENT), ":1: the model has no source token '30'");
  EXPECT_EQ(message(m.model, "a\tA Z\n", 0, XF_INVALID_ARGUMENT), ":1: the model has no target token 'Z'");
  std::string whole(59, 'Z');
  EXPECT_EQ(message(m.model, "a\t" + whole + "ÖÖ\n", 0, XF_INVALID_ARGUMENT), ":1: the model has no target token '" + whole + "…'");
  model.features = true;
  machine hears(model);
  EXPECT_EQ(message(hears.model, "5\t6\n", 1, XF_UNSUPPORTED),
            "model 'sample' cannot be searched with a shortlist: its source is not made of tokens");
  model.features = false;
  model.model = sample::kind::tagger;
  machine tagger(model);
  EXPECT_EQ(message(tagger.model, "5\t6\n", 1, XF_UNSUPPORTED), "model 'sample' cannot be searched with a shortlist: it does not generate");
  model.model = sample::kind::continuer;
  machine continuer(model);
  EXPECT_EQ(message(continuer.model, "5\t6\n", 1, XF_UNSUPPORTED), "model 'sample' cannot be searched with a shortlist: it has no source");
  xf_shortlist *list = nullptr;
  EXPECT_EQ(xf_shortlist_open(m.model, "/nowhere/at/all", 1, &list), XF_IO);
  EXPECT_STREQ(xf_message(), "/nowhere/at/all: No such file or directory");
}

} // namespace
