// Text split into the words that byte-level BPE cuts into tokens, as the regular expressions of well-known models split it. Each is written
// out as a function that says how far the next word goes.
#ifndef RUNTIME_TEXT_BPE_WORDS_H
#define RUNTIME_TEXT_BPE_WORDS_H

#include "runtime/text/unicode_text.h"

#include <string_view>

namespace xf::rt {

// The end of the word that begins at `at`, which is not the text's end, by that pattern (xf_tokenizer_pattern).
size_t end_of_word(const unicode_text &unicode, uint32_t pattern, std::string_view text, size_t at);

} // namespace xf::rt

#endif
