#include "runtime/text/wordpiece.h"

#include <algorithm>
#include <utility>

namespace xf::rt {

namespace {

uint32_t hash_of(uint32_t hash, std::string_view text) { return xf_tokenizer_hash_bytes(hash, text.data(), text.size()); }

void replace_all(std::string &text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

} // namespace

// The pieces of one word at a time.
class wordpiece::pieces {
public:
  explicit pieces(const tokenizer_table &table)
      : table_(table), continuing_(table.text(table.head().continuing)), continuing_hash_(hash_of(XF_TOKENIZER_HASH_START, continuing_)) {}

  void cut(std::string_view word, int32_t unknown, token_sink &tokens) {
    ids_.clear();
    if (characters(word) > table_.head().most_characters)
      return tokens.add(unknown);
    for (size_t at = 0; at < word.size();) {
      auto [id, length] = longest(word.substr(at), at > 0);
      if (id < 0)
        return tokens.add(unknown);
      ids_.push_back(id);
      at += length;
    }
    for (int32_t id : ids_)
      tokens.add(id);
  }

private:
  static size_t characters(std::string_view word) {
    size_t count = 0;
    for (code_point point; (point = unicode_text::point_at(word, 0)).size > 0; word.remove_prefix(point.size))
      ++count;
    return count;
  }

  // The longest piece that a text begins with, and its bytes; -1 where there is none.
  std::pair<int32_t, size_t> longest(std::string_view text, bool continues) {
    // Hashes of what the text begins with, each one character longer.
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

  const tokenizer_table &table_;
  const std::string_view continuing_;
  const uint32_t continuing_hash_;
  std::vector<int32_t> ids_;
  std::vector<std::pair<size_t, uint32_t>> ends_;
};

void wordpiece::cut(std::string_view text, int32_t unknown, token_sink &tokens) const {
  pieces words(table_);
  size_t begin = 0, at = 0;
  auto give = [&](size_t end) {
    if (end > begin)
      words.cut(text.substr(begin, end - begin), unknown, tokens);
  };
  for (code_point point; (point = unicode_text::point_at(text, at)).size > 0; at += point.size) {
    uint16_t classes = unicode_.classes(point);
    if (!(classes & (XF_TOKENIZER_SPACE | XF_TOKENIZER_PUNCTUATION)))
      continue;
    give(at);
    begin = at + point.size;
    if (!(classes & XF_TOKENIZER_SPACE))
      words.cut(text.substr(at, point.size), unknown, tokens);
  }
  give(at);
}

uint64_t wordpiece::memory(uint64_t length) const {
  // Of a word's characters at most a piece each, and how far each of them goes, in lists that may have just grown.
  constexpr uint64_t kCharacter = 3 * (sizeof(int32_t) + sizeof(std::pair<size_t, uint32_t>));
  return table_tokenizer::memory(length) + std::min<uint64_t>(length, table_.head().most_characters) * kCharacter;
}

void wordpiece::decode(std::span<const int32_t> ids, std::string &text) const {
  std::string_view joined = table_.text(table_.head().joined);
  std::string bytes, piece;
  bool first = true;
  for (int32_t id : ids) {
    if (table_.is_special(id) || !table_.has_token(id))
      continue;
    piece = table_.text(id);
    if (!first && piece.starts_with(joined))
      piece.erase(0, joined.size());
    else if (!first)
      piece.insert(0, " ");
    first = false;
    if (table_.has(XF_TOKENIZER_CLEANS_UP))
      for (auto [from, to] : {std::pair(" .", "."), {" ?", "?"}, {" !", "!"}, {" ,", ","}, {" ' ", "'"}, {" n't", "n't"}, {" 'm", "'m"},
                              {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}})
        replace_all(piece, from, to);
    bytes += piece;
  }
  append_text(bytes, text);
}

} // namespace xf::rt
