#include "runtime/text/line_engine.h"

#include "runtime/core/error.h"
#include "runtime/text/text_stream.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>

namespace xf::rt {

class line_engine::line_search_sink : public search_sink {
public:
  line_search_sink(const line_engine &engine, std::vector<line_result> &results) : engine_(engine), results_(results) {}

  void hypothesis_found(int64_t sentence, int32_t, std::span<const int32_t> tokens, bool ended, double score) override {
    line_result &result = results_[engine_.line_of_[sentence]];
    line_hypothesis &hypothesis = result.best.emplace_back();
    hypothesis.score = score;
    engine_.codec_.decode(tokens.first(tokens.size() - ended), hypothesis.text);
  }
  void alignment_found(int64_t sentence, int32_t rank, std::span<const int32_t> tokens, bool ended, const alignment &found) override {
    std::vector<int32_t> &aligned = results_[engine_.line_of_[sentence]].best[static_cast<size_t>(rank)].aligned;
    aligned.reserve(tokens.size());
    auto before = std::ssize(engine_.around_.prefix), behind = std::ssize(engine_.around_.suffix);
    for (size_t i = 0; i < tokens.size() - ended; ++i) {
      if (!engine_.codec_.is_written(tokens[i]))
        continue;
      const float *row = found.weights + static_cast<int64_t>(i) * found.columns;
      int64_t best = -1; // if no weight is a number
      for (int64_t column = 0; column < found.columns; ++column)
        if (row[column] > (best < 0 ? -std::numeric_limits<float>::infinity() : row[best]))
          best = column;
      bool is_source = best >= before && best < found.columns - behind;
      aligned.push_back(is_source ? static_cast<int32_t>(best - before) : -1);
    }
  }
  void sentence_failed(int64_t sentence, const char *message) override { results_[engine_.line_of_[sentence]].error = message; }

private:
  const line_engine &engine_;
  std::vector<line_result> &results_;
};

class line_engine::line_predict_sink : public predict_sink {
public:
  line_predict_sink(const line_engine &engine, const search_options &options, std::vector<line_result> &results)
      : engine_(engine), options_(options), results_(results), labels_(engine.session_.get_model().header().predict.labels != 0) {}

  void predicted(int64_t sentence, const float *values, int64_t rows, int64_t stride, int64_t width) override {
    if (labels_ && has_nan(values, rows, stride, width))
      return sentence_failed(sentence, "the model gave scores that are not numbers");
    line_result &result = results_[engine_.line_of_[sentence]];
    std::string &text = result.best.emplace_back().text;
    const parts own = parts_of(sentence, rows);
    if (options_.predicted_rows)
      return append_rows_of(own, values, stride, width, result.rows);
    auto append_rows = [&](int64_t first, int64_t last) {
      for (int64_t row = first; row < last; ++row)
        append_row(values + row * stride, width, text);
    };
    append_rows(own.first, own.end);
    text += own.is_pair() ? "\t" : "";
    append_rows(own.second, own.last);
  }
  void sentence_failed(int64_t sentence, const char *message) override { results_[engine_.line_of_[sentence]].error = message; }

private:
  // The rows that are the line's own, from `first` to `end` and, of a second text, from `second` to `last`.
  struct parts {
    int64_t first, end, second, last;
    bool is_pair() const { return second < last; }
  };
  parts parts_of(int64_t sentence, int64_t rows) const {
    if (!by_token())
      return {0, rows, rows, rows};
    // Tokens that the text settings put around a line are not the line's.
    const text_codec &codec = engine_.codec_;
    int64_t first = std::ssize(engine_.around_.prefix), last = rows - std::ssize(engine_.around_.suffix);
    std::span<const int32_t> ids(engine_.ids_.data() + engine_.offsets_[sentence], static_cast<size_t>(rows));
    int64_t second = codec.between() ? first_text(engine_.session_.get_model().header().text, ids) : rows;
    if (second >= last)
      return {first, last, last, last};
    return {first, second - static_cast<int64_t>(codec.between()), second, last};
  }
  bool by_token() const { return engine_.session_.prediction()->layout().by_token; }

  void append_rows_of(const parts &own, const float *values, int64_t stride, int64_t width, line_rows &rows) const {
    rows.by_token = by_token();
    rows.first = own.is_pair() ? own.end - own.first : -1;
    rows.count = own.end - own.first + own.last - own.second;
    // Reserves no more than is needed: the results of many lines are kept at once.
    auto count = static_cast<size_t>(rows.count * (labels_ ? options_.best : width));
    if (labels_) {
      rows.labels.reserve(count);
      rows.scores.reserve(count);
    } else {
      rows.values.reserve(count);
    }
    auto append_part = [&](int64_t first, int64_t last) {
      for (int64_t row = first; row < last; ++row) {
        std::span<const float> one(values + row * stride, static_cast<size_t>(width));
        if (labels_)
          append_likeliest(one, options_.best, rows);
        else
          rows.values.insert(rows.values.end(), one.begin(), one.end());
      }
    };
    append_part(own.first, own.end);
    append_part(own.second, own.last);
  }
  static bool has_nan(const float *values, int64_t rows, int64_t stride, int64_t width) {
    for (int64_t row = 0; row < rows; ++row)
      if (std::any_of(values + row * stride, values + row * stride + width, [](float x) { return std::isnan(x); }))
        return true;
    return false;
  }
  static void append_blank(std::string &text) { text += text.empty() || text.back() == '\t' ? "" : " "; }
  void append_row(const float *values, int64_t width, std::string &text) const {
    if (labels_) {
      append_blank(text);
      engine_.codec_.append_label(std::max_element(values, values + width) - values, text);
      return;
    }
    char buffer[32]; // written alike whatever the program's locale
    for (int64_t i = 0; i < width; ++i) {
      char *end = std::to_chars(buffer, buffer + sizeof(buffer), values[i], std::chars_format::general, 6).ptr;
      append_blank(text);
      text.append(buffer, end);
    }
  }

  const line_engine &engine_;
  const search_options &options_;
  std::vector<line_result> &results_;
  const bool labels_;
};

line_engine::line_engine(session &s, text_codec &codec) : session_(s), codec_(codec) {
  if (!s.search() && !s.prediction())
    fail(status::unsupported, "model '%s' neither generates nor predicts: its entries are called by name", s.get_model().name().c_str());
}

void line_engine::check(const search_options &options) const {
  if (session_.search())
    session_.search()->check(options);
  else
    session_.prediction()->check(options.batch);
  check_affixes(options);
}

void line_engine::check_affixes(const search_options &options) const {
  for (const auto &[name, given] : {std::pair("prefix", options.source_prefix), std::pair("suffix", options.source_suffix)}) {
    if (given && !codec_.is_text(true))
      fail(status::invalid_argument, "a source's %s: nothing is put around lines of token ids", name);
    if (given && given->size() > XF_ABI_MAX_AFFIX)
      fail(status::limit, "a source's %s has %zu tokens; at most %d are possible", name, given->size(), XF_ABI_MAX_AFFIX);
  }
}

void line_engine::encode(std::string_view line, const search_options &options) {
  size_t tab = options.has_tabs() ? line.find('\t') : std::string_view::npos, before = after_tab_ids_.size();
  if (options.line_targets && tab == std::string_view::npos)
    fail(status::invalid_argument, "it has no tab, behind which its target would stand");
  if (options.line_targets && line.find('\t', tab + 1) != std::string_view::npos)
    fail(status::invalid_argument, "it has more than one tab: what its target is, is not clear");
  if (tab != std::string_view::npos) {
    try {
      codec_.encode_tokens(/*source=*/false, line.substr(tab + 1), after_tab_ids_);
    } catch (const error &problem) {
      fail(problem.code, "its %s: %s", options.line_targets ? "target" : "prefix", problem.what());
    }
  }
  try {
    truncated_lines_ += codec_.encode(line.substr(0, tab), around_, ids_, options.truncates_lines);
  } catch (...) {
    after_tab_ids_.resize(before);
    throw;
  }
  if (options.line_targets)
    after_tab_ids_.push_back(session_.get_model().header().generate.end);
}

std::string line_engine::stream(std::string_view line, const search_options &options, const std::function<void(std::string_view)> &write) {
  struct streamed {
    text_stream text;
    end_tokens ends;
  };
  const model &m = session_.get_model();
  streamed result{{[&](std::span<const int32_t> tokens, std::string &text) { codec_.decode_settled(tokens, text); }, write},
                  {m.header().generate.end, m.more_ends(), options.ends}};
  search_options line_options = options;
  line_options.on_token = [](void *context, int64_t, int32_t token) {
    auto &receiver = *static_cast<streamed *>(context);
    if (!receiver.ends.contains(token))
      receiver.text.push(token);
  };
  line_options.token_context = &result;
  std::vector<line_result> results;
  run({line}, line_options, results);
  if (!results[0].best.empty())
    result.text.end(results[0].best[0].text);
  return results[0].error;
}

void line_engine::run(const std::vector<std::string_view> &lines, const search_options &options, std::vector<line_result> &results) {
  check_affixes(options);
  results.resize(lines.size());
  around_ = codec_.model_affixes();
  around_ = {options.source_prefix.value_or(around_.prefix), options.source_suffix.value_or(around_.suffix)};
  search_options line_options = options;
  line_options.line_prefixes &= session_.search() != nullptr;
  line_options.line_targets &= session_.search() != nullptr;
  ids_.clear();
  after_tab_ids_.clear();
  // Reserves memory for all tokens that there may be, of which only the used part is touched: growing would hold tokens twice.
  size_t room = 0, after_tab_room = 0;
  for (std::string_view line : lines) {
    room += codec_.room(line, around_);
    after_tab_room += line_options.has_tabs() ? codec_.target_room(line) + 1 : 0;
  }
  ids_.reserve(room);
  after_tab_ids_.reserve(after_tab_room);
  offsets_.assign(1, 0);
  after_tab_offsets_.assign(1, 0);
  line_of_.clear();
  for (size_t line = 0; line < lines.size(); ++line) {
    results[line].best.clear();
    results[line].error.clear();
    results[line].rows = {};
    try {
      encode(lines[line], line_options);
      offsets_.push_back(static_cast<int64_t>(ids_.size()));
      after_tab_offsets_.push_back(static_cast<int64_t>(after_tab_ids_.size()));
      line_of_.push_back(static_cast<int64_t>(line));
    } catch (const error &problem) {
      results[line].error = problem.what();
    }
  }
  token_rows rows{ids_.data(), offsets_.data(), static_cast<int64_t>(line_of_.size())};
  if (session_.search()) {
    token_rows after_tab{after_tab_ids_.data(), after_tab_offsets_.data(), rows.count};
    if (line_options.line_prefixes)
      line_options.prefixes = after_tab;
    if (line_options.line_targets)
      line_options.targets = after_tab;
    line_search_sink sink(*this, results);
    session_.search()->generate(rows, line_options, sink);
  } else {
    line_predict_sink sink(*this, options, results);
    session_.prediction()->predict(rows, options.batch, sink);
  }
}

} // namespace xf::rt
