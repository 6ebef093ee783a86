// The C API: searches, on tokens and on text.
#include "runtime/api/handles.h"
#include "runtime/text/line_engine.h"
#include "runtime/text/shortlist_file.h"

#include <algorithm>

using namespace xf::rt;

struct xf_shortlist {
  std::unique_ptr<const shortlist> impl;
};

struct xf_lines {
  std::vector<line_result> results;
};

namespace {

// Nothing where the model's is to stay.
std::optional<std::span<const int32_t>> affix_of(const int32_t *tokens, int64_t count, const char *when_null) {
  require(count >= -1 && (tokens || count <= 0), when_null);
  if (count < 0)
    return std::nullopt;
  return std::span(tokens, static_cast<size_t>(count));
}

// `of_lines`: whether the fields that are for xf_process_lines count.
search_options options_of(const xf_generate_options *given, int64_t sentences, bool of_lines = false) {
  xf_generate_options o;
  xf_generate_options_init(&o, sizeof(o));
  if (given) {
    require_size(given, XF_FIRST_SIZE(xf_generate_options, length_penalty), "the options' size is not set");
    o = read_struct(given, o);
  }
  require(o.suppress_count >= 0 && (o.suppress || o.suppress_count == 0), "the suppressed tokens are null");
  search_options result;
  result.beam = o.beam;
  result.best = o.n_best;
  result.length_penalty = o.length_penalty;
  result.min_length = o.min_length;
  result.max_length = o.max_length;
  result.batch = o.batch;
  result.scores = o.scores != 0;
  result.suppress = {o.suppress, static_cast<size_t>(o.suppress_count)};
  result.allowed = o.shortlist ? o.shortlist->impl.get() : nullptr;
  result.repetition_penalty = o.repetition_penalty;
  result.no_repeat_ngram = o.no_repeat_ngram;
  result.samples = o.sample != 0;
  result.sample = {o.temperature, o.top_k, o.top_p, o.min_p};
  result.seed = o.seed;
  require(o.ends_count >= 0 && (o.ends || o.ends_count == 0), "the tokens that end results are null");
  result.ends = {o.ends, static_cast<size_t>(o.ends_count)};
  result.line_prefixes = of_lines && o.line_prefixes != 0;
  result.line_targets = of_lines && o.line_targets != 0;
  result.alternatives = o.alternatives != 0;
  result.coverage_penalty = o.coverage_penalty;
  result.prefix_counts = o.prefix_counts != 0;
  result.early_stopping = o.early_stopping != 0;
  result.alignments = of_lines && o.line_alignments != 0;
  require(o.target_offsets || !o.targets, "the targets' offsets are null");
  if (o.target_offsets) {
    require_rows("targets", o.targets, o.target_offsets, sentences);
    result.targets = {o.targets, o.target_offsets, sentences};
  }
  if (of_lines) {
    result.source_prefix = affix_of(o.source_prefix, o.source_prefix_count, "the source's prefix is null");
    result.source_suffix = affix_of(o.source_suffix, o.source_suffix_count, "the source's suffix is null");
  }
  result.on_token = o.on_token;
  result.token_context = o.token_context;
  if (o.prefix_offsets) {
    require_rows("prefixes", o.prefix, o.prefix_offsets, sentences);
    result.prefixes = {o.prefix, o.prefix_offsets, sentences};
  } else {
    require(o.prefix_count >= 0 && (o.prefix || o.prefix_count == 0), "the prefix is null");
    result.prefix = {o.prefix, static_cast<size_t>(o.prefix_count)};
  }
  return result;
}

searcher &search_of(xf_session *s) {
  require(s, "the session is null");
  if (!s->impl.search())
    fail(status::unsupported, "model '%s' does not generate", s->impl.get_model().name().c_str());
  return *s->impl.search();
}

// Writes hypotheses into the caller's arrays; keeps the first failure.
class array_sink : public search_sink {
public:
  array_sink(const xf_hypotheses *results, int32_t best, int64_t sentences) : best_(best) {
    constexpr const char *what = "the results' arrays are null or their size is not set";
    require_size(results, XF_FIRST_SIZE(xf_hypotheses, scores), what);
    out_ = read_struct(results, {});
    require(out_.lengths && out_.capacity >= 0 && (out_.tokens || out_.capacity == 0), what);
    require(!out_.alignments || out_.alignment_width >= 0, "the width of alignments is negative");
    std::fill_n(out_.lengths, sentences * best, -1);
  }

  void hypothesis_found(int64_t sentence, int32_t rank, std::span<const int32_t> tokens, bool, double score) override {
    int64_t index = sentence * best_ + rank;
    out_.lengths[index] = static_cast<int32_t>(tokens.size());
    size_t stored = std::min(tokens.size(), static_cast<size_t>(out_.capacity));
    std::copy_n(tokens.data(), stored, out_.tokens + index * out_.capacity);
    if (out_.scores)
      out_.scores[index] = score;
  }
  bool wants_alignments() const { return out_.alignments; }
  void alignment_found(int64_t sentence, int32_t rank, std::span<const int32_t>, bool, const alignment &found) override {
    float *to = out_.alignments + (sentence * best_ + rank) * out_.capacity * out_.alignment_width;
    for (int64_t row = 0; row < std::min(found.rows, out_.capacity); ++row)
      std::copy_n(found.weights + row * found.columns, std::min(found.columns, out_.alignment_width), to + row * out_.alignment_width);
  }
  void sentence_failed(int64_t sentence, const char *message) override { failure_.note(sentence, message); }
  xf_status result() const { return failure_.result(); }

private:
  xf_hypotheses out_;
  int32_t best_;
  first_failure failure_;
};

} // namespace

void xf_generate_options_init(xf_generate_options *options, size_t size) {
  xf_generate_options defaults = {};
  defaults.size = size;
  defaults.beam = defaults.n_best = defaults.scores = defaults.early_stopping = 1;
  defaults.min_length = defaults.max_length = -1;
  defaults.source_prefix_count = defaults.source_suffix_count = -1;
  defaults.length_penalty = defaults.repetition_penalty = defaults.temperature = defaults.top_p = 1.0;
  init_struct(options, size, defaults);
}

xf_status xf_shortlist_open(const xf_model *m, const char *path, int32_t ids, xf_shortlist **result) {
  return guard([&] {
    require(m && path && result, "the model, the path or the shortlist is null");
    *result = new xf_shortlist{read_shortlist(*m->impl, path, ids != 0)};
    return XF_OK;
  });
}

void xf_shortlist_free(xf_shortlist *list) { delete list; }

xf_status xf_generate(xf_session *s, const int32_t *ids, const int64_t *offsets, int64_t count, const xf_generate_options *options,
                      const xf_hypotheses *results) {
  return guard([&] {
    searcher &search = search_of(s);
    require_rows("sentences", ids, offsets, count);
    search_options o = options_of(options, count);
    search.check(o);
    array_sink sink(results, o.best, count);
    o.alignments = sink.wants_alignments();
    search.generate({ids, offsets, count}, o, sink);
    return sink.result();
  });
}

xf_status xf_generate_from(xf_session *s, const xf_tensor *inputs, int32_t input_count, const xf_generate_options *options,
                           const xf_hypotheses *results) {
  return guard([&] {
    searcher &search = search_of(s);
    arguments given("inputs", inputs, input_count);
    int64_t sentences = search.bind_source(given.given);
    search_options o = options_of(options, sentences);
    search.check(o);
    array_sink sink(results, o.best, sentences);
    o.alignments = sink.wants_alignments();
    search.generate_bound(o, sink);
    return sink.result();
  });
}

xf_status xf_process_lines(xf_session *s, const char *const *lines, int64_t count, int32_t ids, const xf_generate_options *options,
                           xf_lines **result) {
  return guard([&] {
    require(s && result && count >= 0 && (lines || count == 0), "the session, the lines or the result are null");
    std::vector<std::string_view> views;
    for (int64_t i = 0; i < count; ++i) {
      if (!lines[i])
        fail(status::invalid_argument, "line %lld is null", static_cast<long long>(i));
      views.emplace_back(lines[i]);
    }
    search_options o = options_of(options, 0, /*of_lines=*/true);
    require(!o.on_token, "lines are given when they are done (on_token is of xf_generate, and xf_ids_to_text tells the text of its tokens)");
    require(!o.prefixes.offsets, "lines have their prefixes behind a tab (line_prefixes), not as tokens");
    require(!o.has_targets(), "lines have their targets behind a tab (line_targets), not as tokens");
    require(!o.line_prefixes || o.prefix.empty(), "a prefix for all lines, or one on each: prefix and line_prefixes exclude each other");
    require(!o.line_prefixes || !o.line_targets,
            "what stands behind a line's tab is its prefix or its target: line_prefixes and line_targets exclude each other");
    line_engine engine(s->impl, s->codecs->get(ids != 0));
    auto handle = std::make_unique<xf_lines>();
    engine.run(views, o, handle->results);
    *result = handle.release();
    return XF_OK;
  });
}

namespace {
const line_hypothesis *result_at(const xf_lines *lines, int64_t line, int32_t result) {
  return result >= 0 && result < xf_line_results(lines, line) ? &lines->results[line].best[result] : nullptr;
}
} // namespace

int32_t xf_line_results(const xf_lines *lines, int64_t line) {
  bool exists = lines && line >= 0 && static_cast<size_t>(line) < lines->results.size();
  return exists ? static_cast<int32_t>(lines->results[line].best.size()) : 0;
}
const char *xf_line_text(const xf_lines *lines, int64_t line, int32_t result) {
  const line_hypothesis *found = result_at(lines, line, result);
  return found ? found->text.c_str() : nullptr;
}
double xf_line_score(const xf_lines *lines, int64_t line, int32_t result) {
  const line_hypothesis *found = result_at(lines, line, result);
  return found ? found->score : 0.0;
}
int64_t xf_line_alignment(const xf_lines *lines, int64_t line, int32_t result, int32_t *source, int64_t capacity) {
  const line_hypothesis *found = result_at(lines, line, result);
  if (!found)
    return 0;
  auto count = static_cast<int64_t>(found->aligned.size());
  if (source && capacity > 0)
    std::copy_n(found->aligned.data(), std::min(count, capacity), source);
  return count;
}
const char *xf_line_error(const xf_lines *lines, int64_t line) {
  bool exists = lines && line >= 0 && static_cast<size_t>(line) < lines->results.size();
  return exists && !lines->results[line].error.empty() ? lines->results[line].error.c_str() : nullptr;
}
void xf_lines_free(xf_lines *lines) { delete lines; }
