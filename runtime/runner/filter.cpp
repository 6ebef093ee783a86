#include "runtime/runner/filter.h"

#include "runtime/core/error.h"
#include "runtime/runner/line_reader.h"
#include "runtime/runner/output.h"
#include "runtime/text/line_engine.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include <unistd.h>

namespace xf::rt {

namespace {

using clock = std::chrono::steady_clock;

constexpr const char *kTooLong = "it is longer than a mebibyte";

// A line on standard error, where that is a terminal and standard output is not, once work takes seconds.
class progress {
public:
  progress() : shown_(isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO)), begin_(clock::now()), last_(begin_) {}
  ~progress() { clear(); }

  void clear() {
    if (visible_)
      std::fputs("\r\033[K", stderr);
    visible_ = false;
  }

  void update(int64_t lines, const line_reader &reader) {
    clock::time_point now = clock::now();
    if (!shown_ || now - last_ < std::chrono::milliseconds(500))
      return;
    last_ = now;
    double seconds = std::chrono::duration<double>(now - begin_).count();
    std::fprintf(stderr, "\r\033[K%lld lines, %.0f lines/s", static_cast<long long>(lines),
                 static_cast<double>(lines) / seconds);
    if (reader.size() > 0)
      std::fprintf(stderr, ", %.0f%%",
                   100.0 * static_cast<double>(reader.consumed()) / static_cast<double>(reader.size()));
    std::fflush(stderr);
    visible_ = true;
  }

private:
  const bool shown_;
  bool visible_ = false;
  const clock::time_point begin_;
  clock::time_point last_;
};

void append_number(std::string &text, const char *format, double value) {
  // Nobody knows how long: of a score with an odd length penalty it may be hundreds of digits.
  size_t before = text.size();
  text.resize(before + static_cast<size_t>(std::snprintf(nullptr, 0, format, value)));
  std::snprintf(text.data() + before, text.size() - before + 1, format, value);
}

// Of each token that looks at one of the line: that one's number and its own.
std::string links(const std::vector<int32_t> &aligned, const char *before, const char *between, const char *behind, const char *separator) {
  std::string text;
  for (size_t i = 0; i < aligned.size(); ++i)
    if (aligned[i] >= 0)
      text += (text.empty() ? "" : separator) + (before + std::to_string(aligned[i])) + between + std::to_string(i) + behind;
  return text;
}

std::string as_json(int64_t number, const line_result &result, bool scored, bool aligned) {
  std::string text = "{\"line\": " + std::to_string(number);
  if (!result.error.empty())
    return text + ", \"error\": " + json_string(result.error) + "}\n";
  text += ", \"results\": [";
  for (size_t i = 0; i < result.best.size(); ++i) {
    text += (i ? ", {\"text\": " : "{\"text\": ") + json_string(result.best[i].text);
    if (scored && std::isfinite(result.best[i].score))
      append_number(text, ", \"score\": %.9g", result.best[i].score);
    else if (scored)
      text += ", \"score\": null"; // JSON has no infinity
    if (aligned)
      text += ", \"alignment\": [" + links(result.best[i].aligned, "[", ", ", "]", ", ") + "]";
    text += "}";
  }
  return text + "]}\n";
}

// Pieces of text may be characters which would make several lines of one, or begin a column. A prediction has a tab where its line has
// one between two texts.
std::string on_one_line(std::string_view text, bool keeps_tabs = false) {
  std::string line;
  for (size_t at = 0; at < text.size();) {
    size_t length = keeps_tabs && text[at] == '\t' ? 0 : breaking_length(text, at);
    line += length > 0 ? ' ' : text[at];
    at += std::max<size_t>(length, 1);
  }
  return line;
}

std::string as_text(int64_t number, const line_result &result, const run_options &options, bool predicted) {
  if (result.best.empty())
    return "\n";
  std::string text;
  if (options.only_scores) {
    append_number(text, "%.6f\n", result.best[0].score);
    return text;
  }
  auto line = [&](const line_hypothesis &hypothesis) {
    std::string aligned = options.search.alignments ? "\t" + links(hypothesis.aligned, "", "-", "", " ") : "";
    return on_one_line(hypothesis.text, predicted) + aligned + "\n";
  };
  if (!options.numbered)
    return line(result.best[0]);
  for (const line_hypothesis &hypothesis : result.best) {
    text += std::to_string(number);
    append_number(text, "\t%.6f\t", hypothesis.score);
    text += line(hypothesis);
  }
  return text;
}

} // namespace

// The tokens of the prefix that all lines have.
static std::vector<int32_t> prefix_of(const line_engine &engine, const run_options &options) {
  try {
    return engine.encode_prefix(options.prefix);
  } catch (const error &problem) {
    fail(problem.code, "--prefix: %s", problem.what());
  }
}

// Lines one after the other, each result as it comes.
static bool run_stream(const char *program, line_engine &engine, const search_options &search, line_reader &reader, output &out) {
  bool good = true;
  std::vector<input_line> lines;
  for (int64_t number = 1;; ++number) {
    reader.read(1, lines);
    if (lines.empty())
      return good;
    auto write = [&](std::string_view text) {
      out.write(on_one_line(text));
      out.flush();
    };
    std::string problem = lines[0].too_long ? kTooLong : engine.stream(lines[0].text, search, write);
    out.write("\n");
    out.flush();
    if (!problem.empty()) {
      good = false;
      std::fprintf(stderr, "%s: line %lld: %s\n", program, static_cast<long long>(number), problem.c_str());
    }
  }
}

bool run_filter(const char *program, session &s, const run_options &options) {
  text_codec codec(s.get_model(), options.ids);
  line_engine engine(s, codec);
  std::vector<int32_t> prefix = prefix_of(engine, options);
  search_options search = options.search;
  search.prefix = prefix;
  if (s.search())
    s.search()->check(search);
  else
    s.prediction()->check(search.batch);
  line_reader reader(options.file);
  output out;
  if (options.stream) {
    bool good = run_stream(program, engine, search, reader, out);
    out.close();
    return good;
  }
  progress shown;
  bool good = true;
  int64_t number = 0;
  int64_t batch = options.search.batch ? options.search.batch : s.get_model().header().generate.batch;
  std::vector<input_line> lines;
  std::vector<std::string_view> texts;
  std::vector<line_result> results;
  while (true) {
    reader.read(static_cast<size_t>(batch * kWindowBatches), lines);
    if (lines.empty())
      break;
    texts.clear();
    for (const input_line &line : lines)
      texts.push_back(line.too_long ? std::string_view() : line.text);
    engine.run(texts, search, results);
    for (size_t i = 0; i < lines.size(); ++i) {
      ++number;
      line_result &result = results[i];
      if (lines[i].too_long)
        result.error = kTooLong;
      if (!result.error.empty()) {
        good = false;
        shown.clear();
        std::fprintf(stderr, "%s: line %lld: %s\n", program, static_cast<long long>(number), result.error.c_str());
      }
      out.write(options.json ? as_json(number, result, s.search() != nullptr, search.alignments)
                             : as_text(number, result, options, !s.search()));
    }
    out.flush();
    shown.update(number, reader);
  }
  out.close();
  return good;
}

} // namespace xf::rt
