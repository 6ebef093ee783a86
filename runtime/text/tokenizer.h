// Cuts text into subwords and puts them together again. Ids are those of the model's tokens.
#ifndef RUNTIME_TEXT_TOKENIZER_H
#define RUNTIME_TEXT_TOKENIZER_H

#include "runtime/text/vocabulary.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace xf::rt {

class tokenizer {
public:
  virtual ~tokenizer() = default;

  // Appends the ids of a text's first `max_tokens` tokens, and returns how many tokens it has. `unknown`: the token for what has none, or -1: the
  // tokenizer's own. Throws what is wrong with the text.
  virtual size_t encode(std::string_view text, size_t max_tokens, int32_t unknown, std::vector<int32_t> &ids) const = 0;
  // Appends the text that tokens stand for.
  virtual void decode(std::span<const int32_t> ids, std::string &text) const = 0;
  // As many of the first tokens as have a text that further tokens do not change, except for kReplacement at its end, which may be half a
  // character.
  virtual std::span<const int32_t> settled(std::span<const int32_t> ids) const { return ids; }
  // The token of that name, or -1.
  virtual int32_t find(std::string_view name) const = 0;
  // The token that a word stands for, if it is one that text is not cut into; else -1.
  virtual int32_t find_marker(std::string_view word) const = 0;
  // Whether a token of results is no part of their text.
  virtual bool is_special(int32_t id) const = 0;
  // The length of the longest text of a token.
  virtual size_t longest() const = 0;
  // Bytes that it takes besides the image, including those for a text of `length` bytes while it is cut.
  virtual uint64_t memory(uint64_t length) const = 0;
};

// Opens the tokenizer that a side's subwords are. The bytes outlive it, as do `vocab`, the model's tokens if there are any; `side` is the
// side's name. Throws what is wrong with the bytes.
std::unique_ptr<const tokenizer> open_tokenizer(std::string_view bytes, const vocabulary &vocab, const char *side);

} // namespace xf::rt

#endif
