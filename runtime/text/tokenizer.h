// What cuts text into subwords and puts them together again. The ids are the model's tokens.
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

  // Appends the ids of a text's first `most` tokens, and returns how many tokens it has. `unknown`: the token for what has none, or -1: the
  // tokenizer's own. Throws what is wrong with the text.
  virtual size_t encode(std::string_view text, size_t most, int32_t unknown, std::vector<int32_t> &ids) const = 0;
  // Appends the text that tokens stand for.
  virtual void decode(std::span<const int32_t> ids, std::string &text) const = 0;
  // The first of these tokens whose text is the beginning of that with more tokens behind them, unless it ends with kReplacement, which may be
  // half a character.
  virtual std::span<const int32_t> settled(std::span<const int32_t> ids) const { return ids; }
  // The token of that name, or -1.
  virtual int32_t find(std::string_view name) const = 0;
  // The token that a word stands for which text is not cut into, or -1.
  virtual int32_t find_marker(std::string_view word) const = 0;
  // Whether a token of results is no part of their text.
  virtual bool is_special(int32_t id) const = 0;
  // The bytes of a token's longest text.
  virtual size_t longest() const = 0;
  // Bytes that it takes beside the image, with those that a text of `length` bytes takes while it is cut.
  virtual uint64_t memory(uint64_t length) const = 0;
};

// Of the bytes of a side's subwords, which outlive it as `words` do: the model's tokens where there are any, of a side by that name.
// Throws what is wrong with them.
std::unique_ptr<const tokenizer> open_tokenizer(std::string_view bytes, const vocabulary &words, const char *side);

} // namespace xf::rt

#endif
