#include "runtime/text/unigram.h"

#include "runtime/text/unicode_text.h"

#include <algorithm>

namespace xf::rt {

void unigram::tokenize(std::string_view word) {
  ends_.assign(word.size() + 1, {});
  for (size_t begin = 0; begin < word.size();)
    begin = extend(word, begin);
  path_.clear();
  for (size_t end = word.size(); end > 0; end = ends_[end].begin)
    path_.push_back(end);
  size_t known = 0; // text between it and the next token is unknown
  auto give_unknown = [&](size_t end) {
    if (end > known)
      add_unknown(word.substr(known, end - known));
  };
  for (auto end = path_.rbegin(); end != path_.rend(); ++end) {
    const node &token = ends_[*end];
    if (token.id == table_.head().unknown)
      continue;
    give_unknown(token.begin);
    tokens_.add(token.id);
    known = *end;
  }
  give_unknown(word.size());
}

void unigram::offer(size_t begin, size_t end, int32_t id, double score) {
  double sum = score + ends_[begin].score;
  if (ends_[end].begin == kNowhere || sum > ends_[end].score)
    ends_[end] = {sum, begin, id};
}

size_t unigram::extend(std::string_view word, size_t begin) {
  const size_t character = begin + unicode_text::point_at(word, begin).size;
  bool has_character = false;
  uint32_t hash = XF_TOKENIZER_HASH_START;
  for (size_t at = begin, end; at < word.size() && at - begin < table_.longest(); at = end) {
    end = at + unicode_text::point_at(word, at).size;
    hash = xf_tokenizer_hash_bytes(hash, word.data() + at, end - at);
    int32_t id = table_.find(hash, {}, word.substr(begin, end - begin));
    if (id < 0)
      continue;
    offer(begin, end, id, table_.score(id));
    has_character |= end == character;
  }
  if (!has_character)
    offer(begin, character, table_.head().unknown, table_.head().unknown_score);
  return character;
}

void unigram::add_unknown(std::string_view text) {
  // The text may be a token, whose score is too small.
  if (int32_t id = table_.find(text); id >= 0)
    tokens_.add(id);
  else if (has_bytes(text))
    std::for_each(text.begin(), text.end(), [this](char byte) { tokens_.add(byte_token(byte)); });
  else
    tokens_.add(unknown_);
}

uint64_t unigram::memory(uint64_t word) {
  // What ends at each byte, and where the tokens end, in a list that may have just grown.
  return (word + 1) * (sizeof(node) + 3 * sizeof(size_t));
}

} // namespace xf::rt
