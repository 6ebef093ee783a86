// Byte-level BPE: bytes of a word that are merged (Radford et al. 2019, "Language models are unsupervised multitask learners").
#ifndef RUNTIME_TEXT_BYTE_BPE_H
#define RUNTIME_TEXT_BYTE_BPE_H

#include "runtime/text/table_tokenizer.h"

namespace xf::rt {

class byte_bpe : public table_tokenizer {
public:
  using table_tokenizer::table_tokenizer;
  void decode(std::span<const int32_t> ids, std::string &text) const override;
  uint64_t memory(uint64_t length) const override;

protected:
  void cut(std::string_view text, int32_t unknown, token_sink &tokens) const override;
  int32_t find_cut(std::string_view name) const override;
};

} // namespace xf::rt

#endif
