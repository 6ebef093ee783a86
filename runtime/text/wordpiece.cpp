#include "runtime/text/wordpiece.h"

#include "runtime/text/unicode_text.h"

#include <algorithm>

namespace xf::rt {

namespace {

uint32_t hash_of(uint32_t hash, std::string_view text) { return xf_tokenizer_hash_bytes(hash, text.data(), text.size()); }

size_t characters(std::string_view word) {
  size_t count = 0;
  for (code_point point; (point = unicode_text::point_at(word, 0)).size > 0; word.remove_prefix(point.size))
    ++count;
  return count;
}

} // namespace

wordpiece::wordpiece(const tokenizer_table &table, int32_t unknown, token_sink &tokens)
    : word_tokenizer(table, unknown, tokens), continuing_(table.text(table.head().continuing)),
      continuing_hash_(hash_of(XF_TOKENIZER_HASH_START, continuing_)) {}

void wordpiece::tokenize(std::string_view word) {
  ids_.clear();
  if (characters(word) > table_.head().max_characters)
    return tokens_.add(unknown_);
  for (size_t at = 0; at < word.size();) {
    auto [id, length] = longest(word.substr(at), at > 0);
    if (id < 0)
      return tokens_.add(unknown_);
    ids_.push_back(id);
    at += length;
  }
  for (int32_t id : ids_)
    tokens_.add(id);
}

// The longest piece that a text begins with, and its bytes; -1 where there is none.
std::pair<int32_t, size_t> wordpiece::longest(std::string_view text, bool continues) {
  // Hashes of the text's beginnings, each one character longer.
  ends_.clear();
  uint32_t hash = continues ? continuing_hash_ : XF_TOKENIZER_HASH_START;
  for (size_t at = 0; at < text.size() && at <= table_.longest();) {
    size_t size = unicode_text::point_at(text, at).size;
    hash = hash_of(hash, text.substr(at, size));
    ends_.emplace_back(at += size, hash);
  }
  for (; !ends_.empty(); ends_.pop_back()) {
    auto [end, hash] = ends_.back();
    int32_t id = table_.find(hash, continues ? continuing_ : std::string_view(), text.substr(0, end));
    if (id >= 0)
      return {id, end};
  }
  return {-1, 0};
}

uint64_t wordpiece::memory(const tokenizer_table &table, uint64_t word) {
  // At most a piece and a beginning for each character of a word, in lists that may have just grown.
  constexpr uint64_t kCharacter = 3 * (sizeof(int32_t) + sizeof(std::pair<size_t, uint32_t>));
  return std::min<uint64_t>(word, table.head().max_characters) * kCharacter;
}

} // namespace xf::rt
