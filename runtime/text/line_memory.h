// The memory that lines take besides the session: vocabularies, and the texts, tokens and results of lines, which are kept
// together as longer lines are run first.
#ifndef RUNTIME_TEXT_LINE_MEMORY_H
#define RUNTIME_TEXT_LINE_MEMORY_H

#include "runtime/core/model.h"

#include <cstdint>

namespace xf::rt {

// The most bytes that `count` lines at once, of `text` bytes together and at most `longest` each, take in a line_engine and in the code
// that reads and prints them.
uint64_t bytes_of_lines(const model &m, uint64_t count, uint64_t text, uint64_t longest);

} // namespace xf::rt

#endif
