#include "runtime/text/vocabulary.h"

#include "runtime/text/utf8.h"

#include <algorithm>

namespace xf::rt {

std::string_view take_line(std::string_view &text) {
  size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (!line.empty() && line.back() == '\r')
    line.remove_suffix(1);
  return line;
}

vocabulary::vocabulary(std::string_view text) {
  while (!text.empty()) {
    std::string_view line = take_line(text);
    ids_.emplace(line, static_cast<int32_t>(tokens_.size()));
    tokens_.push_back(line);
  }
}

int32_t vocabulary::find(std::string_view token) const {
  auto found = ids_.find(token);
  return found == ids_.end() ? -1 : found->second;
}

std::string shown(std::string_view token) {
  std::string text(token.substr(0, 60));
  while (!text.empty() && find_invalid_utf8(text) != std::string::npos)
    text.pop_back();
  std::replace(text.begin(), text.end(), '\0', ' '); // messages are C strings
  return text.size() < token.size() ? text + "…" : text;
}

} // namespace xf::rt
