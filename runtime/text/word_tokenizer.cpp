#include "runtime/text/word_tokenizer.h"

#include "runtime/text/bpe.h"
#include "runtime/text/unigram.h"
#include "runtime/text/wordpiece.h"

#include <algorithm>

namespace xf::rt {

namespace {

// Words are tokens, or unknown.
class whole_words : public word_tokenizer {
public:
  using word_tokenizer::word_tokenizer;
  void tokenize(std::string_view word) override {
    int32_t id = table_.find(word);
    tokens_.add(id >= 0 ? id : unknown_);
  }
};

} // namespace

bool word_tokenizer::has_bytes(std::string_view text) const {
  return std::all_of(text.begin(), text.end(), [this](char byte) { return byte_token(byte) >= 0; });
}

std::unique_ptr<word_tokenizer> make_word_tokenizer(const tokenizer_table &table, int32_t unknown, token_sink &tokens) {
  switch (table.head().kind) {
  case XF_TOKENIZER_WORDPIECE:
    return std::make_unique<wordpiece>(table, unknown, tokens);
  case XF_TOKENIZER_UNIGRAM:
    return std::make_unique<unigram>(table, unknown, tokens);
  case XF_TOKENIZER_WORDS:
    return std::make_unique<whole_words>(table, unknown, tokens);
  default:
    return std::make_unique<bpe>(table, unknown, tokens);
  }
}

uint64_t memory_of_tokenizing(const tokenizer_table &table, uint64_t word) {
  switch (table.head().kind) {
  case XF_TOKENIZER_WORDPIECE:
    return wordpiece::memory(table, word);
  case XF_TOKENIZER_UNIGRAM:
    return unigram::memory(word);
  case XF_TOKENIZER_WORDS:
    return 0;
  default:
    return bpe::memory(word);
  }
}

} // namespace xf::rt
