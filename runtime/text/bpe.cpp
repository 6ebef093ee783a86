#include "runtime/text/bpe.h"

#include "runtime/text/unicode_text.h"

#include <algorithm>

namespace xf::rt {

void bpe::tokenize(std::string_view word) {
  int32_t whole = table_.has(XF_TOKENIZER_WHOLE_WORDS) ? table_.find(word) : -1;
  if (whole >= 0)
    return tokens_.add(whole);
  begin(word);
  for (size_t right = 1; right < symbols_.size(); ++right)
    offer(static_cast<int32_t>(right) - 1, static_cast<int32_t>(right));
  while (!agenda_.empty()) {
    pair top = agenda_.front();
    std::pop_heap(agenda_.begin(), agenda_.end());
    agenda_.pop_back();
    apply(top);
  }
  for (const symbol &s : symbols_)
    if (s.id != kGone)
      tokens_.add(s.id);
}

// A byte or character without a token becomes the tokens of its bytes, else the unknown token, or nothing where there is none.
void bpe::begin(std::string_view word) {
  symbols_.clear();
  symbols_.reserve(word.size());
  agenda_.reserve(2 * word.size());
  const bool bytes = table_.head().kind == XF_TOKENIZER_BYTE_BPE, fuses = table_.has(XF_TOKENIZER_FUSES_UNKNOWN);
  bool after_unknown = false; // the unknown token is not added yet: as in the library, tokens of bytes overtake it
  for (size_t at = 0, length; at < word.size(); at += length) {
    length = bytes ? 1 : unicode_text::point_at(word, at).size;
    std::string_view part = word.substr(at, length);
    int32_t id = bytes ? byte_token(part[0]) : table_.find(part);
    if (id < 0 && !bytes && has_bytes(part)) {
      for (char byte : part)
        add(byte_token(byte));
      continue;
    }
    if (after_unknown && (id >= 0 || !fuses))
      add(unknown_);
    after_unknown = id < 0;
    add(id);
  }
  if (after_unknown)
    add(unknown_);
  if (!symbols_.empty())
    symbols_.back().next = -1;
}

void bpe::add(int32_t id) {
  auto index = static_cast<int32_t>(symbols_.size());
  if (id >= 0)
    symbols_.push_back({id, index - 1, index + 1});
}

// `left` and `right` are neighbours.
void bpe::offer(int32_t left, int32_t right) {
  if (left < 0 || right < 0)
    return;
  if (const xf_tokenizer_merge *merge = table_.find_merge(id(left), id(right))) {
    agenda_.push_back({static_cast<uint32_t>(merge - table_.merges()), left});
    std::push_heap(agenda_.begin(), agenda_.end());
  }
}

void bpe::apply(const pair &top) {
  symbol &left = symbols_[static_cast<size_t>(top.left)];
  const xf_tokenizer_merge &merge = table_.merges()[top.rank];
  if (left.next < 0 || id(top.left) != merge.left || id(left.next) != merge.right)
    return; // one of them is part of another by now
  symbol &right = symbols_[static_cast<size_t>(left.next)];
  left.id = static_cast<int32_t>(merge.merged);
  left.next = right.next;
  right.id = kGone;
  if (right.next >= 0)
    symbols_[static_cast<size_t>(right.next)].previous = top.left;
  offer(left.previous, top.left);
  offer(top.left, left.next);
}

uint64_t bpe::memory(uint64_t word) {
  // Each byte may be a symbol, and have at most two pairs in the agenda; large blocks are whole pages.
  return word * (sizeof(symbol) + 2 * sizeof(pair) + 1);
}

} // namespace xf::rt
