// Unigram models: the most probable sequence of tokens, where a token's score is the logarithm of its probability (Kudo 2018, "Subword
// regularization").
#ifndef RUNTIME_TEXT_UNIGRAM_H
#define RUNTIME_TEXT_UNIGRAM_H

#include "runtime/text/word_tokenizer.h"

namespace xf::rt {

class unigram : public word_tokenizer {
public:
  using word_tokenizer::word_tokenizer;
  void tokenize(std::string_view word) override;
  static uint64_t memory(uint64_t word);

private:
  static constexpr size_t kNowhere = SIZE_MAX;
  // The best sequence that ends at a byte.
  struct node {
    double score = 0;
    size_t begin = kNowhere;
    int32_t id = -1;
  };

  void offer(size_t begin, size_t end, int32_t id, double score);
  // Offers the tokens that begin at `begin`, or the unknown one for its character. Returns the end of that character.
  size_t extend(std::string_view word, size_t begin);
  void add_unknown(std::string_view text);

  std::vector<node> ends_;
  std::vector<size_t> path_;
};

} // namespace xf::rt

#endif
