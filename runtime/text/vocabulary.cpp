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
  while (!text.empty())
    tokens_.push_back(take_line(text));
  ids_ = text_index(tokens_.size());
  for (size_t id = 0; id < tokens_.size(); ++id)
    ids_.add(tokens_[id], static_cast<int32_t>(id), [this](int32_t other) { return token(static_cast<size_t>(other)); });
}

int32_t vocabulary::find(std::string_view token) const {
  return ids_.find(token, [this](int32_t id) { return tokens_[static_cast<size_t>(id)]; });
}

std::string shown(std::string_view token) {
  std::string text(token.substr(0, 60));
  while (!text.empty() && find_invalid_utf8(text) != std::string::npos)
    text.pop_back();
  std::replace(text.begin(), text.end(), '\0', ' '); // messages are C strings
  return text.size() < token.size() ? text + "…" : text;
}

} // namespace xf::rt
