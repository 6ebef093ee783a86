// WordPiece: words cut into the longest pieces, from the left (Devlin et al. 2019, "BERT").
#ifndef RUNTIME_TEXT_WORDPIECE_H
#define RUNTIME_TEXT_WORDPIECE_H

#include "runtime/text/table_tokenizer.h"

namespace xf::rt {

class wordpiece : public table_tokenizer {
public:
  using table_tokenizer::table_tokenizer;
  void decode(std::span<const int32_t> ids, std::string &text) const override;
  uint64_t memory(uint64_t length) const override;

protected:
  void cut(std::string_view text, int32_t unknown, token_sink &tokens) const override;
  int32_t find_cut(std::string_view name) const override { return table_.find(name); }

private:
  class pieces;
};

} // namespace xf::rt

#endif
