// Text to the pieces of a SentencePiece model, and back.
#ifndef RUNTIME_TEXT_SUBWORDS_H
#define RUNTIME_TEXT_SUBWORDS_H

#include "runtime/text/subword_model.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace xf::rt {

// The most bytes of a normalised text, and how much memory cutting it takes for each of them.
inline constexpr size_t kMaxNormalisedBytes = 1 << 16;
inline constexpr uint64_t kBytesOfTokenizing = 128;

// Normalises Unicode as the model does, and writes blanks as pieces have them. Throws if the result is too long, or the model's
// table is damaged.
void normalise(const subword_model &model, std::string_view text, std::string &normalised);

struct subword {
  std::string_view text;
  int32_t id;
};
// Cut normalised text into pieces; what is in none is unknown.
void tokenize_unigram(const subword_model &model, std::string_view text, std::vector<subword> &pieces);
void tokenize_bpe(const subword_model &model, std::string_view text, std::vector<subword> &pieces);
void tokenize_words(const subword_model &model, std::string_view text, std::vector<subword> &pieces);
void tokenize_characters(const subword_model &model, std::string_view text, std::vector<subword> &pieces);

// Appends the ids of a text's first `max_pieces` pieces, and returns how many it has. Throws what is wrong with it.
size_t encode_subwords(const subword_model &model, std::string_view text, size_t max_pieces, std::vector<int32_t> &ids);
// Appends the text that pieces stand for.
void decode_subwords(const subword_model &model, std::span<const subword_piece> pieces, std::string &text);

// The length of the character that a text begins with, which is not empty.
size_t character_length(std::string_view text);

} // namespace xf::rt

#endif
