#include "runtime/text/tokenizer.h"

#include "runtime/text/sentencepiece.h"
#include "runtime/text/table_tokenizer.h"

namespace xf::rt {

std::unique_ptr<const tokenizer> open_tokenizer(std::string_view bytes, const vocabulary &vocab, const char *side) {
  if (!tokenizer_table::is_one(bytes))
    return std::make_unique<sentencepiece>(bytes, vocab, side);
  return std::make_unique<table_tokenizer>(bytes);
}

} // namespace xf::rt
