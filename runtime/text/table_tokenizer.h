// What the tokenizers of tables (xf_tokenizer.h) share: added tokens, normalised text, names. They differ in words.
#ifndef RUNTIME_TEXT_TABLE_TOKENIZER_H
#define RUNTIME_TEXT_TABLE_TOKENIZER_H

#include "runtime/text/added_tokens.h"
#include "runtime/text/tokenizer.h"
#include "runtime/text/tokenizer_table.h"
#include "runtime/text/unicode_text.h"

namespace xf::rt {

// Where the tokens of one text go.
class token_sink {
public:
  token_sink(std::vector<int32_t> &ids, size_t most) : ids_(ids), first_(ids.size()), most_(most) {}

  // Throws where there are too many.
  void add(int32_t id) {
    if (ids_.size() - first_ == most_)
      refuse_tokens(most_);
    ids_.push_back(id);
  }

private:
  std::vector<int32_t> &ids_;
  const size_t first_, most_;
};

class table_tokenizer : public tokenizer {
public:
  explicit table_tokenizer(std::string_view bytes)
      : table_(bytes), unicode_(table_), added_(table_, unicode_, table_.added), normalised_(table_, unicode_, table_.normalised),
        names_(table_, unicode_, table_.names) {}

  void encode(std::string_view text, size_t most, int32_t unknown, std::vector<int32_t> &ids) const override;
  int32_t find(std::string_view name) const override;
  int32_t find_marker(std::string_view word) const override;
  bool is_special(int32_t id) const override { return table_.is_special(id); }
  // With the blank before it. Bytes that are no text are written as three.
  size_t longest() const override { return 3 * table_.longest() + 1; }
  uint64_t memory(uint64_t length) const override;

protected:
  // Cuts text in which no added token stands.
  virtual void cut(std::string_view text, int32_t unknown, token_sink &tokens) const = 0;
  // The token that words are cut into with that name, or -1.
  virtual int32_t find_cut(std::string_view name) const = 0;
  // Appends bytes as text: what is not UTF-8 is replaced, the beginning of a character as one. Texts end with a zero byte, so they hold none.
  static void append_text(std::string_view bytes, std::string &text);

  const tokenizer_table table_;
  const unicode_text unicode_;

private:
  const added_tokens added_, normalised_, names_;
};

} // namespace xf::rt

#endif
