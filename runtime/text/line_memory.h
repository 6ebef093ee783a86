// What lines take beside the session: vocabularies, and their text, tokens and results, which wait for each other as longer
// lines are run first.
#ifndef RUNTIME_TEXT_LINE_MEMORY_H
#define RUNTIME_TEXT_LINE_MEMORY_H

#include "runtime/core/model.h"

#include <cstdint>

namespace xf::rt {

// Bytes that `count` lines at once, of `text` bytes together and at most `longest` each, take at most in a line_engine and with who
// gives and prints them.
uint64_t bytes_of_lines(const model &m, uint64_t count, uint64_t text, uint64_t longest);

} // namespace xf::rt

#endif
