// Byte pair encoding: bytes or characters of a word that are merged (Sennrich et al. 2016, "Neural machine translation of rare words with subword
// units"; Radford et al. 2019, "Language models are unsupervised multitask learners").
#ifndef RUNTIME_TEXT_BPE_H
#define RUNTIME_TEXT_BPE_H

#include "runtime/text/word_tokenizer.h"

namespace xf::rt {

// Merges neighbours, the pair of the lowest rank first and of equal ones the leftmost. Its time grows little faster than the word.
class bpe : public word_tokenizer {
public:
  using word_tokenizer::word_tokenizer;
  void tokenize(std::string_view word) override;
  static uint64_t memory(uint64_t word);

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

  void begin(std::string_view word);
  void add(int32_t id);
  void offer(int32_t left, int32_t right);
  void apply(const pair &top);
  uint32_t id(int32_t symbol) const { return static_cast<uint32_t>(symbols_[static_cast<size_t>(symbol)].id); }

  std::vector<symbol> symbols_;
  std::vector<pair> agenda_;
};

} // namespace xf::rt

#endif
