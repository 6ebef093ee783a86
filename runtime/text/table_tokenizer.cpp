#include "runtime/text/table_tokenizer.h"

#include "runtime/text/utf8.h"

namespace xf::rt {

void table_tokenizer::encode(std::string_view text, size_t most, int32_t unknown, std::vector<int32_t> &ids) const {
  token_sink tokens(ids, most);
  if (unknown < 0)
    unknown = table_.head().unknown;
  std::string room;
  auto add = [&](int32_t id) { tokens.add(id); };
  auto cut_normalised = [&](std::string_view part) { cut(part, unknown, tokens); };
  added_.split(text, [&](std::string_view part) { normalised_.split(unicode_.normalise(part, room), cut_normalised, add); }, add);
}

int32_t table_tokenizer::find(std::string_view name) const {
  const xf_tokenizer_added *token = names_.find(name);
  return token ? static_cast<int32_t>(token->id) : find_cut(name);
}

int32_t table_tokenizer::find_marker(std::string_view word) const {
  const xf_tokenizer_added *token = names_.find(word);
  return token && (token->flags & XF_TOKENIZER_SHADOW) ? static_cast<int32_t>(token->id) : -1;
}

uint64_t table_tokenizer::memory(uint64_t length) const {
  // While text is normalised: of a byte, its code point and, in a list that may have just grown, what that becomes; then its text.
  constexpr uint64_t kBytesOfByte = 32;
  return sizeof(*this) + (table_.steps.empty() ? 0 : length * kBytesOfByte);
}

void table_tokenizer::append_text(std::string_view bytes, std::string &text) {
  while (!bytes.empty()) {
    size_t length = bytes.front() ? utf8_length(bytes, 0) : 0;
    text += length ? bytes.substr(0, length) : kReplacement;
    bytes.remove_prefix(length ? length : broken_length(bytes));
  }
}

} // namespace xf::rt
