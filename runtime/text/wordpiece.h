// WordPiece: words cut into the longest pieces, from the left (Devlin et al. 2019, "BERT").
#ifndef RUNTIME_TEXT_WORDPIECE_H
#define RUNTIME_TEXT_WORDPIECE_H

#include "runtime/text/word_tokenizer.h"

#include <utility>

namespace xf::rt {

class wordpiece : public word_tokenizer {
public:
  wordpiece(const tokenizer_table &table, int32_t unknown, token_sink &tokens);
  void tokenize(std::string_view word) override;
  static uint64_t memory(const tokenizer_table &table, uint64_t word);

private:
  std::pair<int32_t, size_t> longest(std::string_view text, bool continues);

  const std::string_view continuing_;
  const uint32_t continuing_hash_;
  std::vector<int32_t> ids_;
  std::vector<std::pair<size_t, uint32_t>> ends_;
};

} // namespace xf::rt

#endif
