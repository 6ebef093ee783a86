#include "runtime/text/byte_bpe.h"

#include "runtime/text/bpe_words.h"

#include <algorithm>

namespace xf::rt {

namespace {

// Merges neighbours, the pair of the lowest rank first and of equal ones the leftmost: in time that grows little more than the word does.
class merger {
public:
  explicit merger(const tokenizer_table &table) : table_(table) {}

  void run(std::string_view word, int32_t unknown, token_sink &tokens) {
    begin(word, unknown);
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
        tokens.add(s.id);
  }

private:
  static constexpr int32_t kGone = -1; // it is part of the one before it
  struct symbol {
    int32_t id, previous, next;
  };
  struct pair {
    uint32_t rank;
    int32_t left;
    bool operator<(const pair &other) const { return rank > other.rank || (rank == other.rank && left > other.left); }
  };

  // A byte that no token stands for is unknown, or nothing where no token stands for that either.
  void begin(std::string_view word, int32_t unknown) {
    symbols_.clear();
    symbols_.reserve(word.size());
    agenda_.reserve(2 * word.size());
    bool fuses = table_.has(XF_TOKENIZER_FUSES_UNKNOWN), behind_unknown = false;
    for (char c : word) {
      int32_t id = table_.head().of_byte[static_cast<uint8_t>(c)];
      bool is_unknown = id < 0;
      if (is_unknown)
        id = behind_unknown && fuses ? -1 : unknown;
      behind_unknown = is_unknown;
      auto number = static_cast<int32_t>(symbols_.size());
      if (id >= 0)
        symbols_.push_back({id, number - 1, number + 1});
    }
    if (!symbols_.empty())
      symbols_.back().next = -1;
  }

  // Both stand next to each other.
  void offer(int32_t left, int32_t right) {
    if (left < 0 || right < 0)
      return;
    if (const xf_tokenizer_merge *merge = table_.find_merge(id(left), id(right))) {
      agenda_.push_back({static_cast<uint32_t>(merge - table_.merges()), left});
      std::push_heap(agenda_.begin(), agenda_.end());
    }
  }

  void apply(const pair &top) {
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

  uint32_t id(int32_t symbol) const { return static_cast<uint32_t>(symbols_[static_cast<size_t>(symbol)].id); }

  const tokenizer_table &table_;
  std::vector<symbol> symbols_;
  std::vector<pair> agenda_;
};

} // namespace

void byte_bpe::cut(std::string_view text, int32_t unknown, token_sink &tokens) const {
  merger words(table_);
  std::string spaced;
  if (table_.has(XF_TOKENIZER_ADDS_SPACE) && !text.starts_with(' '))
    text = (spaced = " ").append(text);
  for (size_t at = 0, end; at < text.size(); at = end) {
    end = end_of_word(unicode_, table_.head().pattern, text, at);
    std::string_view word = text.substr(at, end - at);
    int32_t whole = table_.has(XF_TOKENIZER_WHOLE_WORDS) ? table_.find(word) : -1;
    if (whole >= 0)
      tokens.add(whole);
    else
      words.run(word, unknown, tokens);
  }
}

uint64_t byte_bpe::memory(uint64_t length) const {
  // A word may be all of a text. A byte of it is a symbol, and two pairs at most wait for each. Text that is normalised takes up to three
  // times its bytes where it is decomposed, and half as many again in small letters.
  constexpr uint64_t kSymbol = 12, kPairs = 2 * 8;
  return table_tokenizer::memory(length) + (table_.steps.empty() ? 2 : 10) * length / 2 * (kSymbol + kPairs + 1);
}

int32_t byte_bpe::find_cut(std::string_view name) const {
  std::string bytes;
  for (code_point point; (point = unicode_text::point_at(name, 0)).size > 0; name.remove_prefix(point.size)) {
    int32_t byte = xf_tokenizer_byte_of(point.value);
    if (byte < 0)
      return -1;
    bytes += static_cast<char>(byte);
  }
  return table_.find(bytes);
}

void byte_bpe::decode(std::span<const int32_t> ids, std::string &text) const {
  std::string bytes;
  for (int32_t id : ids)
    if (!table_.is_special(id))
      bytes += table_.text(id);
  append_text(bytes, text);
}

} // namespace xf::rt
