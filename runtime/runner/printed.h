// How results are printed: as lines of text, or as JSON.
#ifndef RUNTIME_RUNNER_PRINTED_H
#define RUNTIME_RUNNER_PRINTED_H

#include "runtime/runner/options.h"
#include "runtime/text/line_engine.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace xf::rt {

// What is printed for the line of this number.
std::string as_json(int64_t line_number, const line_result &result, const run_options &options, const text_codec &codec);
std::string as_text(int64_t line_number, const line_result &result, const run_options &options, const text_codec &codec);

// Replaces characters that would break the line or begin a column, which pieces of text may be, by blanks. `keeps_tabs`: a prediction has a
// tab where its line has one between two texts.
std::string on_one_line(std::string_view text, bool keeps_tabs = false);

} // namespace xf::rt

#endif
