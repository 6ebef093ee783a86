// How a word is cut into the tokens of a table.
#ifndef RUNTIME_TEXT_WORD_CUTTER_H
#define RUNTIME_TEXT_WORD_CUTTER_H

#include "runtime/text/tokenizer.h"
#include "runtime/text/tokenizer_table.h"

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace xf::rt {

// Takes the tokens of one text: keeps the first `most`, and counts all.
class token_sink {
public:
  token_sink(std::vector<int32_t> &ids, size_t most) : ids_(ids), most_(most) {}

  void add(int32_t id) {
    if (count_++ < most_)
      ids_.push_back(id);
  }
  size_t count() const { return count_; }

private:
  std::vector<int32_t> &ids_;
  const size_t most_;
  size_t count_ = 0;
};

// Cuts the words of one text. Their tokens go to the sink, `unknown` for what has none.
class word_cutter {
public:
  word_cutter(const tokenizer_table &table, int32_t unknown, token_sink &tokens) : table_(table), unknown_(unknown), tokens_(tokens) {}
  virtual ~word_cutter() = default;
  virtual void cut(std::string_view word) = 0;

protected:
  // Whether each byte of a text has a token.
  bool has_bytes(std::string_view text) const;
  int32_t byte_token(char byte) const { return table_.head().of_byte[static_cast<uint8_t>(byte)]; }

  const tokenizer_table &table_;
  const int32_t unknown_;
  token_sink &tokens_;
};

// The cutter for the table's kind.
std::unique_ptr<word_cutter> make_word_cutter(const tokenizer_table &table, int32_t unknown, token_sink &tokens);
// Bytes that it takes for a word of `word` bytes.
uint64_t memory_of_cutting(const tokenizer_table &table, uint64_t word);

} // namespace xf::rt

#endif
