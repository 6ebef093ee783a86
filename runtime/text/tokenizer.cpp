#include "runtime/text/tokenizer.h"

#include "runtime/core/error.h"
#include "runtime/text/byte_bpe.h"
#include "runtime/text/sentencepiece.h"
#include "runtime/text/wordpiece.h"

namespace xf::rt {

std::unique_ptr<const tokenizer> open_tokenizer(std::string_view bytes, const vocabulary &words, const char *side) {
  if (!tokenizer_table::is_one(bytes))
    return std::make_unique<sentencepiece>(bytes, words, side);
  if (tokenizer_table::kind_of(bytes) == XF_TOKENIZER_WORDPIECE)
    return std::make_unique<wordpiece>(bytes);
  return std::make_unique<byte_bpe>(bytes);
}

void refuse_tokens(size_t most) { fail(status::invalid_argument, "it has more tokens than are possible: %zu", most); }

} // namespace xf::rt
