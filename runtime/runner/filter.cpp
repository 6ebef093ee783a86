#include "runtime/runner/filter.h"

#include "runtime/core/error.h"
#include "runtime/runner/line_reader.h"
#include "runtime/runner/output.h"
#include "runtime/runner/printed.h"
#include "runtime/text/line_engine.h"

#include <chrono>
#include <cstdio>

#include <unistd.h>

namespace xf::rt {

namespace {

using clock = std::chrono::steady_clock;

constexpr const char *kTooLong = "it is longer than a mebibyte";

// A line of progress, every half a second, on standard error, if that is a terminal and standard output is not.
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
    std::fprintf(stderr, "\r\033[K%lld lines, %.0f lines/s", static_cast<long long>(lines), static_cast<double>(lines) / seconds);
    if (reader.size() > 0)
      std::fprintf(stderr, ", %.0f%%", 100.0 * static_cast<double>(reader.consumed()) / static_cast<double>(reader.size()));
    std::fflush(stderr);
    visible_ = true;
  }

private:
  const bool shown_;
  bool visible_ = false;
  const clock::time_point begin_;
  clock::time_point last_;
};

} // namespace

// The tokens of an option's text.
static std::vector<int32_t> tokens_of(const char *option, const text_codec &codec, bool source, std::string_view text) {
  std::vector<int32_t> tokens;
  try {
    codec.encode_tokens(source, text, tokens);
  } catch (const error &problem) {
    fail(problem.code, "%s: %s", option, problem.what());
  }
  return tokens;
}

static void report_truncated_lines(const char *program, const line_engine &engine, const text_codec &codec) {
  if (int64_t count = engine.truncated_lines(); count > 0)
    std::fprintf(stderr, "%s: %lld line%s cut to %zu tokens\n", program, static_cast<long long>(count), count == 1 ? " was" : "s were",
                 codec.max_tokens());
}

// Runs lines one after the other, and writes each result as it comes.
static bool run_stream(const char *program, line_engine &engine, const search_options &search, line_reader &reader, output &out) {
  bool good = true;
  std::vector<input_line> lines;
  for (int64_t line_number = 1;; ++line_number) {
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
      std::fprintf(stderr, "%s: line %lld: %s\n", program, static_cast<long long>(line_number), problem.c_str());
    }
  }
}

bool run_filter(const char *program, session &s, const run_options &options) {
  text_codec codec(s.get_model(), options.ids);
  line_engine engine(s, codec);
  auto given_tokens = [&](const char *option, const std::optional<std::string> &text) { return tokens_of(option, codec, true, text.value_or("")); };
  const std::vector<int32_t> prefix = tokens_of("--prefix", codec, false, options.prefix),
                             source_prefix = given_tokens("--source-prefix", options.source_prefix),
                             source_suffix = given_tokens("--source-suffix", options.source_suffix);
  search_options search = options.search;
  search.prefix = prefix;
  if (options.source_prefix)
    search.source_prefix = source_prefix;
  if (options.source_suffix)
    search.source_suffix = source_suffix;
  engine.check(search);
  if (search.truncates_lines && !codec.is_text(true))
    fail(status::invalid_argument, "--truncate cuts text: of token ids nobody knows which are the text's");
  line_reader reader(options.file);
  output out;
  if (options.stream) {
    bool good = run_stream(program, engine, search, reader, out);
    out.close();
    report_truncated_lines(program, engine, codec);
    return good;
  }
  progress shown;
  bool good = true;
  int64_t line_number = 0;
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
      ++line_number;
      line_result &result = results[i];
      if (lines[i].too_long)
        result.error = kTooLong;
      if (!result.error.empty()) {
        good = false;
        shown.clear();
        std::fprintf(stderr, "%s: line %lld: %s\n", program, static_cast<long long>(line_number), result.error.c_str());
      }
      out.write(options.json ? as_json(line_number, result, options, codec) : as_text(line_number, result, options, codec));
    }
    out.flush();
    shown.update(line_number, reader);
  }
  out.close();
  shown.clear();
  report_truncated_lines(program, engine, codec);
  return good;
}

} // namespace xf::rt
