#include "runtime/text/unicode_text.h"

#include "runtime/text/utf8.h"

#include <algorithm>

namespace xf::rt {

unicode_text::unicode_text(const tokenizer_table &table) : table_(table) {
  for (uint32_t point = 0; point < kAscii; ++point)
    ascii_[point] = find_run(point);
}

code_point unicode_text::point_at(std::string_view text, size_t at) {
  if (at >= text.size())
    return {};
  auto first = static_cast<uint8_t>(text[at]);
  if (first < 0x80)
    return {first, 1};
  size_t length = utf8_length(text, at);
  if (length == 0)
    return {0xfffd, 1};
  return {utf8_point(text, at, length), static_cast<uint32_t>(length)};
}

size_t unicode_text::before(std::string_view text, size_t at) {
  size_t begin = at - 1;
  while (begin > 0 && at - begin < 4 && (static_cast<uint8_t>(text[begin]) & 0xc0) == 0x80)
    --begin;
  return begin;
}

size_t unicode_text::skip(std::string_view text, size_t at, uint16_t wanted) const {
  for (code_point point; (point = point_at(text, at)).size > 0 && (classes(point.value) & wanted); at += point.size)
    ;
  return at;
}

const xf_tokenizer_run &unicode_text::find_run(uint32_t point) const {
  auto behind = std::upper_bound(table_.runs.begin(), table_.runs.end(), point,
                                 [](uint32_t value, const xf_tokenizer_run &run) { return value < run.first; });
  return behind[-1]; // the first run begins at 0
}

} // namespace xf::rt
