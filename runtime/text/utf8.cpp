#include "runtime/text/utf8.h"

namespace xf::rt {

size_t utf8_length(std::string_view text, size_t at) {
  auto byte = [&](size_t i) { return at + i < text.size() ? static_cast<uint8_t>(text[at + i]) : 0u; };
  auto follows = [&](size_t i) { return (byte(i) & 0xc0) == 0x80; };
  unsigned first = byte(0);
  if (at >= text.size())
    return 0;
  if (first < 0x80)
    return 1;
  if (first >= 0xc2 && first < 0xe0)
    return follows(1) ? 2 : 0;
  if (first >= 0xe0 && first < 0xf0) {
    bool overlong = first == 0xe0 && byte(1) < 0xa0, surrogate = first == 0xed && byte(1) >= 0xa0;
    return follows(1) && follows(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xf0 && first < 0xf5) {
    bool overlong = first == 0xf0 && byte(1) < 0x90, beyond = first == 0xf4 && byte(1) >= 0x90;
    return follows(1) && follows(2) && follows(3) && !overlong && !beyond ? 4 : 0;
  }
  return 0;
}

uint32_t utf8_point(std::string_view text, size_t at, size_t length) {
  auto point = static_cast<uint32_t>(static_cast<uint8_t>(text[at]));
  if (length > 1)
    point &= 0xffu >> (length + 1);
  for (size_t i = 1; i < length; ++i)
    point = point << 6 | (static_cast<uint8_t>(text[at + i]) & 0x3f);
  return point;
}

size_t broken_length(std::string_view text) {
  auto first = static_cast<uint8_t>(text.front());
  size_t whole = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  for (size_t kept = whole - 1; kept > 1; --kept) {
    std::string completed(text.substr(0, kept));
    completed.resize(whole, '\x80');
    if (kept <= text.size() && utf8_length(completed, 0) == whole)
      return kept;
  }
  return 1;
}

size_t find_invalid_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    size_t length = utf8_length(text, at);
    if (length == 0)
      return at;
    at += length;
  }
  return std::string_view::npos;
}

void append_utf8(uint32_t point, std::string &text) {
  if (point < 0x80) {
    text += static_cast<char>(point);
  } else if (point < 0x800) {
    text += static_cast<char>(0xc0 | point >> 6);
    text += static_cast<char>(0x80 | (point & 0x3f));
  } else if (point < 0x10000) {
    text += static_cast<char>(0xe0 | point >> 12);
    text += static_cast<char>(0x80 | (point >> 6 & 0x3f));
    text += static_cast<char>(0x80 | (point & 0x3f));
  } else {
    text += static_cast<char>(0xf0 | point >> 18);
    text += static_cast<char>(0x80 | (point >> 12 & 0x3f));
    text += static_cast<char>(0x80 | (point >> 6 & 0x3f));
    text += static_cast<char>(0x80 | (point & 0x3f));
  }
}

void to_lower(std::string_view text, std::string &lowered) {
  lowered.clear();
  for (size_t at = 0; at < text.size();) {
    size_t length = utf8_length(text, at);
    if (length <= 1) {
      lowered += static_cast<char>(lower(static_cast<uint8_t>(text[at])));
      ++at;
      continue;
    }
    append_utf8(lower(utf8_point(text, at, length)), lowered);
    at += length;
  }
}

} // namespace xf::rt
