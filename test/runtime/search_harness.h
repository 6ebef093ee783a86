// What the tests of searches share: a session of the sample model, its results, and sentences.
#ifndef TEST_RUNTIME_SEARCH_HARNESS_H
#define TEST_RUNTIME_SEARCH_HARNESS_H

#include "runtime/api/handles.h"
#include "test/runtime/sample_model.h"
#include "test/runtime/sample_reference.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace sample {

// A model in memory, and a session of it.
class machine {
public:
  explicit machine(const sample::options &o, int threads = 1, int isa = XF_ISA_BASELINE) : image_(sample::build(o)) {
    xf_session_options options;
    xf_session_options_init(&options, sizeof(options));
    options.threads = threads;
    options.isa = isa;
    EXPECT_EQ(xf_open_memory(image_.data(), image_.size(), &model), XF_OK) << xf_message();
    EXPECT_EQ(xf_session_create(model, &options, &session), XF_OK) << xf_message();
  }
  // A session whose threads each work on rows of their own, two at a time, however few rows there are.
  static std::unique_ptr<machine> per_thread(const sample::options &o, int threads) {
    auto m = std::make_unique<machine>(o, threads);
    xf_session_free(m->session);
    m->session = new xf_session(*m->model, {.threads = threads, .isa = XF_ISA_BASELINE, .min_rows_per_thread = 1, .max_rows_per_call = 2});
    return m;
  }
  ~machine() {
    xf_session_free(session);
    xf_model_free(model);
  }

  xf_model *model = nullptr;
  xf_session *session = nullptr;

private:
  sample::aligned_bytes image_;
};

// Tests with a step that returns logits, and with one that chooses tokens.
class both_steps : public testing::TestWithParam<bool> {
protected:
  static sample::options plain(sample::kind kind = sample::kind::translator) {
    sample::options o;
    o.model = kind;
    o.chooses = GetParam();
    return o;
  }
};

struct outcome {
  std::vector<std::vector<sample::found>> sentences;
  xf_status status;
};

inline outcome collect(const std::vector<int32_t> &ids, const std::vector<int32_t> &lengths, const std::vector<double> &scores, int64_t capacity,
                       int32_t best, xf_status status) {
  outcome result;
  result.status = status;
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (i % best == 0)
      result.sentences.emplace_back();
    if (lengths[i] >= 0)
      result.sentences.back().push_back({tokens(&ids[i * capacity], &ids[i * capacity] + lengths[i]), scores[i]});
  }
  return result;
}

// Rows of tokens as the C API takes them.
struct rows {
  std::vector<int32_t> ids;
  std::vector<int64_t> offsets = {0};
  rows() = default;
  explicit rows(const std::vector<tokens> &all) {
    for (const tokens &row : all)
      add(row);
  }
  void add(const tokens &row) {
    ids.insert(ids.end(), row.begin(), row.end());
    offsets.push_back(static_cast<int64_t>(ids.size()));
  }
};

inline void set_targets(xf_generate_options &options, const rows &given) {
  options.targets = given.ids.data(), options.target_offsets = given.offsets.data();
}
inline void set_prefixes(xf_generate_options &options, const rows &given) {
  options.prefix = given.ids.data(), options.prefix_offsets = given.offsets.data();
}

inline outcome generate(xf_session *session, const std::vector<tokens> &sources, const xf_generate_options &options) {
  rows given(sources);
  given.ids.push_back(0);
  size_t count = sources.size() * static_cast<size_t>(options.n_best);
  std::vector<int32_t> out(count * 64, -7), lengths(count);
  std::vector<double> scores(count);
  xf_hypotheses results = {sizeof(results), out.data(), 64, lengths.data(), scores.data()};
  xf_status status = xf_generate(session, given.ids.data(), given.offsets.data(), static_cast<int64_t>(sources.size()), &options, &results);
  return collect(out, lengths, scores, 64, options.n_best, status);
}

// Like generate(), for sources of one length that are passed as the model's input.
inline outcome generate_from(xf_session *session, const std::vector<tokens> &sources, const xf_generate_options &options, const char *name = "src") {
  rows laid_out(sources);
  xf_tensor input = {name, XF_I32, 2, {static_cast<int64_t>(sources.size()), static_cast<int64_t>(sources[0].size())}, laid_out.ids.data()};
  size_t count = sources.size() * static_cast<size_t>(options.n_best);
  std::vector<int32_t> out(count * 64, -7), lengths(count, -1);
  std::vector<double> scores(count);
  xf_hypotheses results = {sizeof(results), out.data(), 64, lengths.data(), scores.data()};
  xf_status status = xf_generate_from(session, &input, 1, &options, &results);
  return collect(out, lengths, scores, 64, options.n_best, status);
}

// Default options, with as many results as beams.
inline xf_generate_options defaults(int32_t beam = 1) {
  xf_generate_options o;
  xf_generate_options_init(&o, sizeof(o));
  o.beam = o.n_best = beam;
  return o;
}

// The error message of a search with default options that change(options) makes invalid.
template <typename Change> std::string message_of(xf_session *session, xf_status status, Change change) {
  xf_generate_options options = defaults();
  change(options);
  EXPECT_EQ(generate(session, {{5}}, options).status, status);
  return xf_message();
}

inline std::vector<tokens> random_sources(unsigned seed, int count, bool pads = false) {
  std::mt19937 random(seed);
  std::vector<tokens> sources;
  for (int i = 0; i < count; ++i) {
    tokens source(1 + random() % sample::kSource);
    for (int32_t &id : source)
      id = static_cast<int32_t>(pads && random() % 4 == 0 ? 0 : 3 + random() % (sample::kSourceBound - 3));
    source.back() = 5;
    sources.push_back(source);
  }
  return sources;
}

// Random target tokens that are not special.
inline tokens random_target(std::mt19937 &random, size_t length) {
  tokens ids(length);
  for (int32_t &id : ids)
    id = static_cast<int32_t>(3 + random() % (SAMPLE_VOCABULARY - 3));
  return ids;
}

// The tokens that the decoder reads for a prompt: the start token is added if the prompt does not begin with it.
inline tokens with_start(tokens prompt) {
  if (prompt.empty() || prompt[0] != SAMPLE_START)
    prompt.insert(prompt.begin(), SAMPLE_START);
  return prompt;
}

inline void expect_same(const std::vector<sample::found> &got, const std::vector<sample::found> &wanted, size_t sentence) {
  ASSERT_EQ(got.size(), wanted.size()) << "sentence " << sentence;
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].ids, wanted[i].ids) << "sentence " << sentence << " result " << i;
    EXPECT_NEAR(got[i].score, wanted[i].score, 1e-6) << "sentence " << sentence << " result " << i;
  }
}

inline void expect_same_bits(const outcome &got, const outcome &wanted) {
  ASSERT_EQ(got.sentences.size(), wanted.sentences.size());
  for (size_t i = 0; i < got.sentences.size(); ++i) {
    ASSERT_EQ(got.sentences[i].size(), wanted.sentences[i].size());
    for (size_t k = 0; k < got.sentences[i].size(); ++k) {
      EXPECT_EQ(got.sentences[i][k].ids, wanted.sentences[i][k].ids);
      EXPECT_EQ(got.sentences[i][k].score, wanted.sentences[i][k].score);
    }
  }
}

} // namespace sample

#endif
