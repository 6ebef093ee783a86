// The tokenizer of a SentencePiece model. Its tokens are the model's pieces, or the lines of a vocabulary that hold these.
#ifndef RUNTIME_TEXT_SENTENCEPIECE_H
#define RUNTIME_TEXT_SENTENCEPIECE_H

#include "runtime/text/subword_model.h"
#include "runtime/text/tokenizer.h"

namespace xf::rt {

class sentencepiece : public tokenizer {
public:
  sentencepiece(std::string_view bytes, const vocabulary &vocab, const char *side) : model_(bytes), vocabulary_(vocab), side_(side) {}

  size_t encode(std::string_view text, size_t max_tokens, int32_t unknown, std::vector<int32_t> &ids) const override;
  void decode(std::span<const int32_t> ids, std::string &text) const override;
  int32_t find(std::string_view name) const override { return vocabulary_.empty() ? model_.find_any(name) : vocabulary_.find(name); }
  // A control piece, or a token that the vocabulary has besides the pieces.
  int32_t find_marker(std::string_view word) const override;
  bool is_special(int32_t) const override { return false; }
  size_t longest() const override;
  uint64_t memory(uint64_t length) const override;

private:
  subword_model model_;
  const vocabulary &vocabulary_;
  const char *side_;
};

} // namespace xf::rt

#endif
