// Splits text into the words that are cut into tokens, as the regular expressions of well-known models do, each of which is written out as a
// function that returns the end of the next word; and writes blanks of words as pieces have them.
#ifndef RUNTIME_TEXT_PRE_TOKENIZER_H
#define RUNTIME_TEXT_PRE_TOKENIZER_H

#include "runtime/text/unicode_text.h"
#include "runtime/text/utf8.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace xf::rt {

class pre_tokenizer {
public:
  pre_tokenizer(const tokenizer_table &table, const unicode_text &unicode) : table_(table), unicode_(unicode) {}

  // Calls visit(word) for each word of a text. `is_first`: the whole text begins with it.
  template <typename Visit> void split(std::string_view text, bool is_first, Visit visit) const {
    const bool adds = table_.has(XF_TOKENIZER_ADDS_SPACE) && (is_first || !table_.has(XF_TOKENIZER_ADDS_ONCE));
    const bool escapes = table_.has(XF_TOKENIZER_ESCAPES);
    std::string buffer;
    if (adds && !escapes && !text.starts_with(' '))
      text = (buffer = " ").append(text);
    for (size_t at = 0; at < text.size();) {
      auto [begin, end] = next(text, at);
      at = end;
      std::string_view word = text.substr(begin, end - begin);
      if (escapes)
        visit_escaped(escape(word, adds, buffer), visit);
      else if (!word.empty())
        visit(word);
    }
  }

private:
  struct range {
    size_t begin, end;
  };
  // The next word of a text from `at` on, which is not its end; empty where there is none.
  range next(std::string_view text, size_t at) const;
  static std::string_view escape(std::string_view word, bool adds, std::string &buffer);

  template <typename Visit> void visit_escaped(std::string_view word, Visit visit) const {
    while (!word.empty()) {
      size_t end = table_.has(XF_TOKENIZER_SPLITS_ESCAPED) ? word.find(kSpacePiece, 1) : word.size();
      visit(word.substr(0, end));
      word.remove_prefix(std::min(end, word.size()));
    }
  }

  const tokenizer_table &table_;
  const unicode_text &unicode_;
};

} // namespace xf::rt

#endif
