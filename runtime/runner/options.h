// The command line of a compiled program.
#ifndef RUNTIME_RUNNER_OPTIONS_H
#define RUNTIME_RUNNER_OPTIONS_H

#include "runtime/core/model.h"
#include "runtime/core/session.h"

#include <string>
#include <vector>

namespace xf::rt {

struct run_options {
  search_options search;
  std::vector<int32_t> suppress, ends; // what `search` refers to
  std::string prefix;                  // as text
  std::optional<std::string> source_prefix, source_suffix;
  session_options session;
  bool predicts = false; // the model does, and does not search
  bool ids = false;
  bool numbered = false; // line-number<TAB>score<TAB>text
  bool json = false;
  bool only_scores = false; // prints the scores of results that the lines hold
  bool stream = false;
  bool limits = false;
  bool help = false;
  bool version = false;
  std::string shortlist; // the file's name
  std::string file = "-";
};

// Throws what is wrong with the command line.
void parse_options(int argc, char **argv, const model &m, run_options &options);

std::string help_text(const char *program, const model &m);
std::string limits_text(const model &m, int threads);

} // namespace xf::rt

#endif
