// Tokens that were added to a tokenizer: where text contains one, it is taken out before the rest is split into words.
#ifndef RUNTIME_TEXT_ADDED_TOKENS_H
#define RUNTIME_TEXT_ADDED_TOKENS_H

#include "runtime/text/unicode_text.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

namespace xf::rt {

class added_tokens {
public:
  added_tokens(const tokenizer_table &table, const unicode_text &unicode, std::span<const xf_tokenizer_added> tokens)
      : table_(table), unicode_(unicode), tokens_(tokens) {
    for (const xf_tokenizer_added &token : tokens)
      begins_[static_cast<uint8_t>(table.text(token.text).front())] = true;
  }

  // The token of that name, or null.
  const xf_tokenizer_added *find(std::string_view name) const {
    const xf_tokenizer_added *found = longest(name);
    return found && found->text.size == name.size() ? found : nullptr;
  }

  // Calls visit_text(text) and visit_token(id) for the parts of a text, in order: the token that begins first is taken, and of several the longest.
  template <typename VisitText, typename VisitToken> void split(std::string_view text, VisitText visit_text, VisitToken visit_token) const {
    size_t done = 0;
    for (size_t at = 0; at < text.size();) {
      const xf_tokenizer_added *token = begins_[static_cast<uint8_t>(text[at])] ? longest(text.substr(at)) : nullptr;
      if (!token) {
        ++at;
        continue;
      }
      size_t begin = at, end = at + token->text.size;
      at = end;
      bool inside = ((unicode_.classes_before(text, begin) | unicode_.classes_at(text, end)) & XF_TOKENIZER_WORD) != 0;
      if ((token->flags & XF_TOKENIZER_SHADOW) || ((token->flags & XF_TOKENIZER_SINGLE_WORD) && inside))
        continue;
      // A token within blanks that the one before has stripped is found all the same, unless it strips blanks on its left, too.
      if (token->flags & XF_TOKENIZER_STRIPS_LEFT) {
        while (begin > done && (unicode_.classes_before(text, begin) & XF_TOKENIZER_SPACE))
          begin = unicode_text::before(text, begin);
        begin = std::max(begin, done);
      }
      if (token->flags & XF_TOKENIZER_STRIPS_RIGHT)
        end = unicode_.skip(text, end, XF_TOKENIZER_SPACE);
      if (begin >= end)
        continue;
      if (begin > done)
        visit_text(text.substr(done, begin - done));
      visit_token(static_cast<int32_t>(token->id));
      done = end;
    }
    if (done < text.size())
      visit_text(text.substr(done));
  }

private:
  // Tokens are in the order of their texts: those that match the text so far lie together, and get fewer with every byte.
  const xf_tokenizer_added *longest(std::string_view text) const {
    const xf_tokenizer_added *found = nullptr;
    auto begin = tokens_.begin(), end = tokens_.end();
    for (size_t at = 0; at < text.size() && begin != end;) {
      // A token that ends here comes before those that go on.
      auto byte_of = [&](const xf_tokenizer_added &token) { return token.text.size > at ? static_cast<uint8_t>(table_.text(token.text)[at]) : -1; };
      int byte = static_cast<uint8_t>(text[at]);
      begin = std::partition_point(begin, end, [&](const xf_tokenizer_added &token) { return byte_of(token) < byte; });
      end = std::partition_point(begin, end, [&](const xf_tokenizer_added &token) { return byte_of(token) == byte; });
      ++at;
      if (begin != end && begin->text.size == at)
        found = &*begin;
    }
    return found;
  }

  const tokenizer_table &table_;
  const unicode_text &unicode_;
  std::span<const xf_tokenizer_added> tokens_;
  bool begins_[256] = {};
};

} // namespace xf::rt

#endif
