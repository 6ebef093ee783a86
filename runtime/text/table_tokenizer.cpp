#include "runtime/text/table_tokenizer.h"

#include "runtime/text/word_tokenizer.h"

namespace xf::rt {

namespace {

// The bytes that a name of byte-level BPE stands for; empty if it has other characters.
std::string bytes_of_name(std::string_view name) {
  std::string bytes;
  for (code_point point; (point = unicode_text::point_at(name, 0)).size > 0; name.remove_prefix(point.size)) {
    int32_t byte = xf_tokenizer_byte_of(point.value);
    if (byte < 0)
      return "";
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

} // namespace

size_t table_tokenizer::encode(std::string_view text, size_t max_tokens, int32_t unknown, std::vector<int32_t> &ids) const {
  token_sink tokens(ids, max_tokens);
  std::unique_ptr<word_tokenizer> word_model = make_word_tokenizer(table_, unknown < 0 ? table_.head().unknown : unknown, tokens);
  std::string buffer;
  auto add = [&](int32_t id) { tokens.add(id); };
  auto tokenize = [&](std::string_view word) { word_model->tokenize(word); };
  auto tokenize_text = [&](std::string_view part) {
    std::string_view normalised = normaliser_.normalise(part, buffer);
    auto tokenize_normalised = [&](std::string_view rest) {
      pre_tokenizer_.split(rest, part.data() == text.data() && rest.data() == normalised.data(), tokenize);
    };
    normalised_.split(normalised, tokenize_normalised, add);
  };
  added_.split(text, tokenize_text, add);
  return tokens.count();
}

int32_t table_tokenizer::find(std::string_view name) const {
  if (const xf_tokenizer_added *token = names_.find(name))
    return static_cast<int32_t>(token->id);
  return table_.head().kind == XF_TOKENIZER_BYTE_BPE ? table_.find(bytes_of_name(name)) : table_.find(name);
}

int32_t table_tokenizer::find_marker(std::string_view word) const {
  const xf_tokenizer_added *token = names_.find(word);
  return token && (token->flags & XF_TOKENIZER_SHADOW) ? static_cast<int32_t>(token->id) : -1;
}

uint64_t table_tokenizer::memory(uint64_t length) const {
  // For each byte while text is normalised: its code point and, in a list that may have just grown, what that becomes; then its text, in a
  // string that may have just grown, too. A word may be the whole text, and its blanks become pieces of three bytes.
  constexpr uint64_t kBytesOfByte = 4 + 3 * 4 + 3;
  uint64_t normalised = table_.steps.empty() ? length : length * table_.head().growth + text_normaliser::kPrepended;
  bool escapes = table_.has(XF_TOKENIZER_ESCAPES), copies = escapes || table_.has(XF_TOKENIZER_ADDS_SPACE);
  uint64_t word = escapes ? 3 * normalised + kSpacePiece.size() : normalised + 1;
  return sizeof(*this) + (table_.steps.empty() ? 0 : normalised * kBytesOfByte) + (copies ? 3 * word : 0) + memory_of_tokenizing(table_, word);
}

} // namespace xf::rt
