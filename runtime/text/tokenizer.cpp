#include "runtime/text/tokenizer.h"

#include "runtime/text/sentencepiece.h"
#include "runtime/text/table_tokenizer.h"

namespace xf::rt {

std::unique_ptr<const tokenizer> open_tokenizer(std::string_view bytes, const vocabulary &words, const char *side) {
  if (!tokenizer_table::is_one(bytes))
    return std::make_unique<sentencepiece>(bytes, words, side);
  return std::make_unique<table_tokenizer>(bytes);
}

} // namespace xf::rt
