// How a word is cut into the tokens of a table.
#ifndef RUNTIME_TEXT_WORD_TOKENIZER_H
#define RUNTIME_TEXT_WORD_TOKENIZER_H

#include "runtime/text/tokenizer.h"
#include "runtime/text/tokenizer_table.h"

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace xf::rt {

// Takes the tokens of one text: keeps the first `max_tokens`, and counts all.
class token_sink {
public:
  token_sink(std::vector<int32_t> &ids, size_t max_tokens) : ids_(ids), max_tokens_(max_tokens) {}

  void add(int32_t id) {
    if (count_++ < max_tokens_)
      ids_.push_back(id);
  }
  size_t count() const { return count_; }

private:
  std::vector<int32_t> &ids_;
  const size_t max_tokens_;
  size_t count_ = 0;
};

// Cuts the words of one text. Their tokens go to the sink, `unknown` for what has none.
class word_tokenizer {
public:
  word_tokenizer(const tokenizer_table &table, int32_t unknown, token_sink &tokens) : table_(table), unknown_(unknown), tokens_(tokens) {}
  virtual ~word_tokenizer() = default;
  virtual void tokenize(std::string_view word) = 0;

protected:
  // Whether each byte of a text has a token.
  bool has_bytes(std::string_view text) const;
  int32_t byte_token(char byte) const { return table_.head().of_byte[static_cast<uint8_t>(byte)]; }

  const tokenizer_table &table_;
  const int32_t unknown_;
  token_sink &tokens_;
};

// The tokenizer for the table's kind.
std::unique_ptr<word_tokenizer> make_word_tokenizer(const tokenizer_table &table, int32_t unknown, token_sink &tokens);
// Bytes that it takes for a word of `word` bytes.
uint64_t memory_of_tokenizing(const tokenizer_table &table, uint64_t word);

} // namespace xf::rt

#endif
