// How text is cut into the pieces of a SentencePiece model.
#include "runtime/text/subwords.h"

#include <algorithm>
#include <queue>
#include <unordered_map>

namespace xf::rt {

size_t character_length(std::string_view text) {
  static constexpr uint8_t lengths[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3, 4};
  return std::min<size_t>(lengths[static_cast<uint8_t>(text.front()) >> 4], text.size());
}

// The most probable sequence of pieces (Viterbi), where a piece's score is the logarithm of its probability (Kudo 2018, "Subword
// regularization"). Sums are rounded to f32 as the library rounds them.
void tokenize_unigram(const subword_model &model, std::string_view text, std::vector<subword> &pieces) {
  struct node { // the best sequence that ends here
    int32_t id = -1;
    float score = 0;
    size_t begin = std::string_view::npos;
  };
  constexpr float kUnknownPenalty = 10.0f;
  const float unknown_score = model.min_score() - kUnknownPenalty;
  std::vector<node> ends(text.size() + 1);
  auto offer = [&](size_t begin, size_t length, int32_t id, double sum) {
    node &end = ends[begin + length];
    if (end.begin == std::string_view::npos || sum > static_cast<double>(end.score))
      end = {id, static_cast<float>(sum), begin};
  };
  for (size_t begin = 0, length; begin < text.size(); begin += length) {
    length = character_length(text.substr(begin));
    const float before = ends[begin].score;
    bool has_character = false;
    model.for_prefixes(text.substr(begin), [&](size_t size, int32_t id) {
      const subword_piece &piece = model.piece(id);
      if (piece.type == piece_type::unused)
        return;
      // User-defined pieces are always taken.
      bool sure = piece.type == piece_type::user_defined;
      double score = sure ? static_cast<double>(static_cast<float>(size) * model.max_score()) - 0.1 : static_cast<double>(piece.score);
      offer(begin, size, id, score + static_cast<double>(before));
      has_character |= size == length;
    });
    if (!has_character)
      offer(begin, length, model.unknown(), static_cast<double>(unknown_score + before));
  }
  size_t first = pieces.size();
  for (size_t end = text.size(); end > 0; end = ends[end].begin)
    pieces.push_back({text.substr(ends[end].begin, end - ends[end].begin), ends[end].id});
  std::reverse(pieces.begin() + static_cast<std::ptrdiff_t>(first), pieces.end());
}

namespace {

// Merges neighbours, the best-scored pair first and of equal ones the leftmost (Sennrich et al. 2016, "Neural machine translation of rare
// words with subword units").
class merger {
public:
  merger(const subword_model &model, std::string_view text) : model_(model) {
    for (size_t at = 0; at < text.size();) {
      size_t fixed = model.match_user_defined(text.substr(at)), length = fixed ? fixed : character_length(text.substr(at));
      auto index = static_cast<int32_t>(symbols_.size());
      symbols_.push_back({text.substr(at, length), index - 1, index + 1, fixed > 0});
      at += length;
    }
    if (!symbols_.empty())
      symbols_.back().next = -1;
    for (int32_t right = 1; right < static_cast<int32_t>(symbols_.size()); ++right)
      offer(right - 1, right);
  }

  void run(std::vector<subword> &pieces) {
    while (!agenda_.empty()) {
      pair top = agenda_.top();
      agenda_.pop();
      symbol &left = symbols_[static_cast<size_t>(top.left)], &right = symbols_[static_cast<size_t>(top.right)];
      if (left.text.empty() || right.text.empty() || left.text.size() + right.text.size() != top.size)
        continue; // one of them is part of another by now
      left.text = join(left.text, right.text);
      right.text = {};
      left.next = right.next;
      if (right.next >= 0)
        symbols_[static_cast<size_t>(right.next)].previous = top.left;
      offer(left.previous, top.left);
      offer(top.left, left.next);
    }
    for (int32_t at = symbols_.empty() ? -1 : 0; at >= 0; at = symbols_[static_cast<size_t>(at)].next)
      give(symbols_[static_cast<size_t>(at)].text, pieces);
  }

private:
  struct symbol {
    std::string_view text;
    int32_t previous, next;
    bool fixed;
  };
  struct pair {
    int32_t left, right;
    float score;
    size_t size;
    bool operator<(const pair &other) const { return score < other.score || (score == other.score && left > other.left); }
  };

  // The texts are adjacent in memory.
  static std::string_view join(std::string_view left, std::string_view right) { return {left.data(), left.size() + right.size()}; }

  void offer(int32_t left, int32_t right) {
    if (left < 0 || right < 0 || symbols_[static_cast<size_t>(left)].fixed || symbols_[static_cast<size_t>(right)].fixed)
      return;
    std::string_view first = symbols_[static_cast<size_t>(left)].text, second = symbols_[static_cast<size_t>(right)].text, both = join(first, second);
    int32_t id = model_.find(both);
    if (id < 0)
      return;
    agenda_.push({left, right, model_.piece(id).score, both.size()});
    if (model_.piece(id).type == piece_type::unused)
      made_of_.emplace(both, first.size());
  }

  // Unused pieces serve merging only: they are split into what they were made of.
  void give(std::string_view text, std::vector<subword> &pieces) const {
    std::vector<std::string_view> open = {text};
    while (!open.empty()) {
      text = open.back();
      open.pop_back();
      int32_t id = model_.id_of(text);
      auto parts = made_of_.find(text);
      if (model_.piece(id).type != piece_type::unused || parts == made_of_.end()) {
        pieces.push_back({text, id});
        continue;
      }
      open.push_back(text.substr(parts->second));
      open.push_back(text.substr(0, parts->second));
    }
  }

  const subword_model &model_;
  std::vector<symbol> symbols_;
  std::priority_queue<pair> agenda_;
  std::unordered_map<std::string_view, size_t> made_of_;
};

} // namespace

void tokenize_bpe(const subword_model &model, std::string_view text, std::vector<subword> &pieces) { merger(model, text).run(pieces); }

void tokenize_words(const subword_model &model, std::string_view text, std::vector<subword> &pieces) {
  // A word begins with a blank, even where the normaliser puts blanks after words.
  while (!text.empty()) {
    std::string_view word = text.substr(0, text.find(kSpacePiece, 1));
    pieces.push_back({word, model.id_of(word)});
    text.remove_prefix(word.size());
  }
}

void tokenize_characters(const subword_model &model, std::string_view text, std::vector<subword> &pieces) {
  for (size_t at = 0, length; at < text.size(); at += length) {
    size_t fixed = model.match_user_defined(text.substr(at));
    length = fixed ? fixed : character_length(text.substr(at));
    pieces.push_back({text.substr(at, length), model.id_of(text.substr(at, length))});
  }
}

} // namespace xf::rt
