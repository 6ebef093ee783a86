// Lines in, lines out: what a compiled program does, and xf_process_lines.
#ifndef RUNTIME_TEXT_LINE_ENGINE_H
#define RUNTIME_TEXT_LINE_ENGINE_H

#include "runtime/core/session.h"
#include "runtime/text/codec.h"
#include "runtime/text/line_rows.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace xf::rt {

struct line_hypothesis {
  std::string text;
  double score = 0;
  // Where alignments are wanted, for each token of the text: which of the line's own tokens it looks at most, or -1 if that is one
  // that the text settings put around the line.
  std::vector<int32_t> aligned;
};

struct line_result {
  std::vector<line_hypothesis> best; // empty for a bad line
  line_rows rows;                    // of a prediction, where they are wanted; then it has no text
  std::string error;
};

class line_engine {
public:
  // Both outlive the engine.
  line_engine(session &s, text_codec &codec);

  // Throws what is wrong with the options, as run() does.
  void check(const search_options &options) const;
  // Calls `write` with the text of one line's result in pieces, as its tokens are chosen: options.beam is 1. Returns what is wrong with
  // the line, or nothing.
  std::string stream(std::string_view line, const search_options &options, const std::function<void(std::string_view)> &write);

  // Fills results[i] for each line. A model that predicts has one result a line, and no score.
  void run(const std::vector<std::string_view> &lines, const search_options &options, std::vector<line_result> &results);

  // How many lines have been cut (search_options::truncates_lines).
  int64_t truncated_lines() const { return truncated_lines_; }

private:
  void check_affixes(const search_options &options) const;
  class line_search_sink;
  class line_predict_sink;

  // Appends the line's tokens, and those of its prefix or target after a tab, if it has one.
  void encode(std::string_view line, const search_options &options);

  session &session_;
  text_codec &codec_;
  std::vector<int32_t> ids_, after_tab_ids_;
  std::vector<int64_t> offsets_, after_tab_offsets_;
  affixes around_; // each line
  std::vector<int64_t> line_of_; // by sentence
  int64_t truncated_lines_ = 0;
};

} // namespace xf::rt

#endif
