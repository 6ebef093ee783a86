// SentencePiece models of a few pieces.
#ifndef TEST_RUNTIME_SPM_FILES_H
#define TEST_RUNTIME_SPM_FILES_H

#include "runtime/text/subword_model.h"

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

namespace spm {

// The protocol buffer encodings that models need.
inline std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7)
    bytes += static_cast<char>(value | 128);
  return bytes + static_cast<char>(value);
}
inline std::string integer(unsigned field, uint64_t value) { return varint(field << 3) + varint(value); }
inline std::string bytes(unsigned field, const std::string &value) { return varint(field << 3 | 2) + varint(value.size()) + value; }
inline std::string real(unsigned field, float value) {
  auto bits = std::bit_cast<uint32_t>(value);
  std::string result = varint(field << 3 | 5);
  for (int shift = 0; shift < 32; shift += 8)
    result += static_cast<char>(bits >> shift);
  return result;
}

struct made {
  std::string text;
  float score = 0;
  xf::rt::piece_type type = xf::rt::piece_type::normal;
};
// A model of <unk>, <s> and `pieces`.
inline std::string model_of(std::vector<made> pieces, xf::rt::subword_kind kind, const std::string &trainer = "",
                            const std::string &normalizer = "") {
  std::string model;
  pieces.insert(pieces.begin(), {{"<unk>", 0, xf::rt::piece_type::unknown}, {"<s>", 0, xf::rt::piece_type::control}});
  for (const made &piece : pieces)
    model += bytes(1, bytes(1, piece.text) + real(2, piece.score) + integer(3, static_cast<uint64_t>(piece.type)));
  return model + bytes(2, integer(3, static_cast<uint64_t>(kind)) + trainer) + bytes(3, normalizer);
}

} // namespace spm

#endif
