// UTF-8 as the Unicode standard defines it: no overlong forms, no surrogates, nothing above U+10FFFF.
#ifndef RUNTIME_TEXT_UTF8_H
#define RUNTIME_TEXT_UTF8_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace xf::rt {

// Some editors put it before a text, of which it is no part.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// What stands for a blank in pieces.
inline constexpr std::string_view kSpacePiece = "\xe2\x96\x81";

// What stands for bytes that are not UTF-8.
inline constexpr std::string_view kReplacement = "\xef\xbf\xbd";

// The number of bytes of the code point that starts at `at`, or 0 where there is none.
size_t utf8_length(std::string_view text, size_t at);
// The code point that starts at `at` and has `length` bytes.
uint32_t utf8_point(std::string_view text, size_t at, size_t length);
// How many bytes a text, which does not begin with a code point, has of the beginning of one; 1 if they are no such beginning.
size_t broken_length(std::string_view text);
// The position of the first byte that is not UTF-8, or npos.
size_t find_invalid_utf8(std::string_view text);
void append_utf8(uint32_t point, std::string &text);
// Writes the text with every code point in lower case. The text is valid.
void to_lower(std::string_view text, std::string &lowered);
// Unicode's simple lower-case mapping.
uint32_t lower(uint32_t point);

} // namespace xf::rt

#endif
