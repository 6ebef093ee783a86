#include "runtime/runner/printed.h"

#include "runtime/runner/output.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <span>

namespace xf::rt {

namespace {

void append_number(std::string &text, const char *format, double value) {
  // It may be of any length: a score with an odd length penalty may have hundreds of digits.
  size_t before = text.size();
  text.resize(before + static_cast<size_t>(std::snprintf(nullptr, 0, format, value)));
  std::snprintf(text.data() + before, text.size() - before + 1, format, value);
}

// JSON has no infinity.
void append_json_score(std::string &text, double value) {
  if (std::isfinite(value))
    append_number(text, "%.9g", value);
  else
    text += "null";
}

// With as many digits as it takes to read the same number back.
void append_json_value(std::string &text, float value) {
  char buffer[32];
  if (std::isfinite(value))
    text.append(buffer, std::to_chars(buffer, buffer + sizeof(buffer), value).ptr);
  else
    text += "null";
}

std::string label_of(const text_codec &codec, int32_t label) {
  std::string name;
  codec.append_label(label, name);
  return name;
}

// [element, ...], each of them appended by `append`.
template <typename T, typename F> void append_list(std::string &text, std::span<const T> list, F append) {
  text += "[";
  for (size_t i = 0; i < list.size(); ++i) {
    text += i ? ", " : "";
    append(text, list[i]);
  }
  text += "]";
}

// For each token that looks at one of the line: that one's index and its own.
std::string links(const std::vector<int32_t> &aligned, const char *before, const char *between, const char *behind, const char *separator) {
  std::string text;
  for (size_t i = 0; i < aligned.size(); ++i)
    if (aligned[i] >= 0)
      text += (text.empty() ? "" : separator) + (before + std::to_string(aligned[i])) + between + std::to_string(i) + behind;
  return text;
}

void append_searched(std::string &text, const line_result &result, bool aligned) {
  for (size_t i = 0; i < result.best.size(); ++i) {
    text += (i ? ", {\"text\": " : "{\"text\": ") + json_string(result.best[i].text) + ", \"score\": ";
    append_json_score(text, result.best[i].score);
    if (aligned)
      text += ", \"alignment\": [" + links(result.best[i].aligned, "[", ", ", "]", ", ") + "]";
    text += "}";
  }
}

void append_values(std::string &text, const line_rows &rows) {
  text += "{\"values\": ";
  std::span<const float> values = rows.values;
  if (!rows.by_token) {
    append_list(text, values, append_json_value);
  } else {
    size_t width = values.size() / static_cast<size_t>(std::max<int64_t>(rows.count, 1));
    text += "[";
    for (size_t row = 0; row < static_cast<size_t>(rows.count); ++row) {
      text += row ? ", " : "";
      append_list(text, values.subspan(row * width, width), append_json_value);
    }
    text += "]";
  }
}

void append_labels(std::string &text, const line_rows &rows, const text_codec &codec) {
  text += "{\"labels\": ";
  append_list(text, std::span(rows.labels), [&](std::string &to, int32_t label) { to += json_string(label_of(codec, label)); });
  text += ", \"scores\": ";
  append_list(text, std::span(rows.scores), append_json_score);
}

void append_predicted(std::string &text, const line_rows &rows, const text_codec &codec) {
  if (!rows.labels.empty() && !rows.by_token) {
    for (size_t i = 0; i < rows.labels.size(); ++i) {
      text += (i ? ", {\"label\": " : "{\"label\": ") + json_string(label_of(codec, rows.labels[i])) + ", \"score\": ";
      append_json_score(text, rows.scores[i]);
      text += "}";
    }
    return;
  }
  if (rows.labels.empty())
    append_values(text, rows);
  else
    append_labels(text, rows, codec);
  if (rows.first >= 0)
    text += ", \"first\": " + std::to_string(rows.first);
  text += "}";
}

// The form of results with scores: line-number<TAB>score<TAB>label, or with a label for each token line-number<TAB>score score...<TAB>label label...
std::string numbered_labels(int64_t line_number, const line_rows &rows, const text_codec &codec) {
  std::string text, labels;
  for (size_t i = 0; i < rows.labels.size(); ++i) {
    bool begins = i == 0 || !rows.by_token;
    if (begins)
      text += std::to_string(line_number) + "\t";
    append_number(text, begins ? "%.6f" : " %.6f", rows.scores[i]);
    labels += begins ? "\t" : static_cast<int64_t>(i) == rows.first ? "\t" : " ";
    labels += on_one_line(label_of(codec, rows.labels[i]));
    if (rows.by_token && i + 1 < rows.labels.size())
      continue;
    text += labels + "\n";
    labels.clear();
  }
  return text;
}

} // namespace

std::string on_one_line(std::string_view text, bool keeps_tabs) {
  std::string line;
  for (size_t at = 0; at < text.size();) {
    size_t length = keeps_tabs && text[at] == '\t' ? 0 : breaking_length(text, at);
    line += length > 0 ? ' ' : text[at];
    at += std::max<size_t>(length, 1);
  }
  return line;
}

std::string as_json(int64_t line_number, const line_result &result, const run_options &options, const text_codec &codec) {
  std::string text = "{\"line\": " + std::to_string(line_number);
  if (!result.error.empty())
    return text + ", \"error\": " + json_string(result.error) + "}\n";
  text += ", \"results\": [";
  if (options.search.predicted_rows)
    append_predicted(text, result.rows, codec);
  else
    append_searched(text, result, options.search.alignments);
  return text + "]}\n";
}

std::string as_text(int64_t line_number, const line_result &result, const run_options &options, const text_codec &codec) {
  if (result.best.empty())
    return "\n";
  if (options.search.predicted_rows)
    return numbered_labels(line_number, result.rows, codec);
  std::string text;
  if (options.only_scores) {
    append_number(text, "%.6f\n", result.best[0].score);
    return text;
  }
  auto line = [&](const line_hypothesis &hypothesis) {
    std::string aligned = options.search.alignments ? "\t" + links(hypothesis.aligned, "", "-", "", " ") : "";
    return on_one_line(hypothesis.text, options.predicts) + aligned + "\n";
  };
  if (!options.numbered)
    return line(result.best[0]);
  for (const line_hypothesis &hypothesis : result.best) {
    text += std::to_string(line_number);
    append_number(text, "\t%.6f\t", hypothesis.score);
    text += line(hypothesis);
  }
  return text;
}

} // namespace xf::rt
