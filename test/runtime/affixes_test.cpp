// Tokens that a caller puts around texts instead of those that the model has for that, by the C API.
#include "test/runtime/search_harness.h"

#include <memory>

namespace {

using sample::defaults;
using sample::generate;
using sample::machine;
using sample::tokens;

using line_results = std::unique_ptr<xf_lines, decltype(&xf_lines_free)>;

line_results process(xf_session *session, const char *line, const xf_generate_options &options) {
  xf_lines *lines = nullptr;
  EXPECT_EQ(xf_process_lines(session, &line, 1, 0, &options, &lines), XF_OK) << xf_message();
  return {lines, xf_lines_free};
}

std::string refusal_of(xf_session *session, const xf_generate_options &options, xf_status status, int32_t ids = 0) {
  const char *line = "4";
  xf_lines *lines = nullptr;
  EXPECT_EQ(xf_process_lines(session, &line, 1, ids, &options, &lines), status);
  EXPECT_EQ(lines, nullptr);
  return xf_message();
}

sample::options with_suffix(sample::kind kind = sample::kind::translator) {
  sample::options o;
  o.model = kind, o.suffix = true;
  return o;
}

TEST(affixes, stand_around_a_line_instead_of_the_models) {
  sample::options o = with_suffix();
  o.aligns = true;
  machine m(o);
  const tokens before = {7, 8}, behind = {9};
  for (const tokens *prefix : {static_cast<const tokens *>(nullptr), &before})
    for (const tokens *suffix : {static_cast<const tokens *>(nullptr), &behind}) {
      xf_generate_options options = defaults();
      options.min_length = 6, options.line_alignments = 1;
      tokens source = {4, 5, 6};
      if (prefix) {
        options.source_prefix = prefix->data(), options.source_prefix_count = std::ssize(*prefix);
        source.insert(source.begin(), prefix->begin(), prefix->end());
      }
      if (suffix)
        options.source_suffix = suffix->data(), options.source_suffix_count = std::ssize(*suffix);
      source.push_back(suffix ? 9 : SAMPLE_END);
      line_results lines = process(m.session, "a b c", options);
      EXPECT_EQ(xf_line_score(lines.get(), 0, 0), generate(m.session, {source}, options).sentences[0][0].score);
      // Only the line's own tokens are linked, which are numbered from 0.
      std::vector<int32_t> linked(64);
      int64_t count = xf_line_alignment(lines.get(), 0, 0, linked.data(), 64);
      ASSERT_GT(count, 1);
      for (int64_t i = 0; i < count; ++i)
        EXPECT_TRUE(linked[static_cast<size_t>(i)] >= -1 && linked[static_cast<size_t>(i)] < 3) << linked[static_cast<size_t>(i)];
    }
}

TEST(affixes, may_be_none) {
  machine m(with_suffix());
  xf_generate_options options = defaults();
  options.source_suffix_count = 0;
  double score = xf_line_score(process(m.session, "a b", options).get(), 0, 0);
  EXPECT_EQ(score, generate(m.session, {{4, 5}}, options).sentences[0][0].score);
  EXPECT_NE(score, xf_line_score(process(m.session, "a b", defaults()).get(), 0, 0));
}

TEST(affixes, have_no_labels) {
  machine m(with_suffix(sample::kind::tagger));
  xf_generate_options options = defaults();
  const tokens prefix = {9, 8, 7, 6, 5}, suffix = {4, 4}; // as many as there are labels: the others keep theirs
  std::string wanted = xf_line_text(process(m.session, "a b c", options).get(), 0, 0);
  options.source_prefix = prefix.data(), options.source_prefix_count = 5;
  options.source_suffix = suffix.data(), options.source_suffix_count = 2;
  EXPECT_EQ(xf_line_text(process(m.session, "a b c", options).get(), 0, 0), wanted);
}

TEST(affixes, that_are_wrong_are_refused) {
  machine m(with_suffix());
  const tokens many(9, 4), unknown = {30};
  xf_generate_options options = defaults();
  options.source_prefix_count = 1;
  EXPECT_EQ(refusal_of(m.session, options, XF_INVALID_ARGUMENT), "the source's prefix is null");
  options.source_prefix = many.data(), options.source_prefix_count = -2;
  EXPECT_EQ(refusal_of(m.session, options, XF_INVALID_ARGUMENT), "the source's prefix is null");
  options.source_prefix_count = 9;
  EXPECT_EQ(refusal_of(m.session, options, XF_LIMIT), "a source's prefix has 9 tokens; at most 8 are possible");
  options.source_prefix_count = 8;
  EXPECT_EQ(refusal_of(m.session, options, XF_INVALID_ARGUMENT, 1), "a source's prefix: nothing is put around lines of token ids");
  EXPECT_EQ(xf_line_error(process(m.session, "a b c d", options).get(), 0), std::string("it has 13 tokens; at most 12 are possible"));
  options.source_prefix_count = -1;
  options.source_suffix = unknown.data(), options.source_suffix_count = 1;
  EXPECT_EQ(xf_line_error(process(m.session, "a", options).get(), 0), std::string("there is no token 30; the last is 29"));
  options.source_suffix = nullptr;
  EXPECT_EQ(refusal_of(m.session, options, XF_INVALID_ARGUMENT), "the source's suffix is null");
  EXPECT_EQ(generate(m.session, {{4}}, options).status, XF_OK) << "only lines have them";
}

} // namespace
