// Lines in, lines out: what a compiled program does, and xf_process_lines.
#ifndef RUNTIME_TEXT_LINE_ENGINE_H
#define RUNTIME_TEXT_LINE_ENGINE_H

#include "runtime/core/session.h"
#include "runtime/text/codec.h"

#include <string>
#include <string_view>
#include <vector>

namespace xf::rt {

struct line_hypothesis {
  std::string text;
  double score = 0;
};

struct line_result {
  std::vector<line_hypothesis> best; // empty for a bad line
  std::string error;
};

class line_engine {
public:
  line_engine(session &s, bool ids);

  // Fills results[i] for each line. A model that predicts has one result a line, and no score.
  void run(const std::vector<std::string_view> &lines, const search_options &options,
           std::vector<line_result> &results);

private:
  class search_results;
  class prediction_results;

  session &session_;
  text_codec codec_;
  std::vector<int32_t> ids_;
  std::vector<int64_t> offsets_;
  std::vector<int64_t> line_of_; // of each sentence
};

} // namespace xf::rt

#endif
