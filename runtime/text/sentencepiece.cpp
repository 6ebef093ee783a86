#include "runtime/text/sentencepiece.h"

#include "runtime/core/error.h"
#include "runtime/text/subwords.h"

#include <algorithm>

namespace xf::rt {

size_t sentencepiece::encode(std::string_view text, size_t max_tokens, int32_t unknown, std::vector<int32_t> &ids) const {
  size_t first = ids.size();
  size_t count = encode_subwords(model_, text, max_tokens, ids);
  for (size_t i = first; i < ids.size(); ++i) {
    const subword_piece &piece = model_.piece(ids[i]);
    if (piece.type == piece_type::unknown && unknown >= 0)
      ids[i] = unknown;
    else if (!vocabulary_.empty())
      ids[i] = vocabulary_.find(piece.text);
    if (ids[i] < 0)
      ids[i] = unknown;
    if (ids[i] < 0)
      fail(status::invalid_argument, "the piece '%s' is not in the %s vocabulary", shown(piece.text).c_str(), side_);
  }
  return count;
}

void sentencepiece::decode(std::span<const int32_t> ids, std::string &text) const {
  std::vector<subword_piece> pieces;
  for (int32_t id : ids) {
    auto index = static_cast<size_t>(id);
    int32_t piece = vocabulary_.empty() ? id : -1;
    if (index < vocabulary_.size())
      piece = model_.find_any(vocabulary_.token(index));
    if (piece >= 0 && static_cast<size_t>(piece) < model_.size())
      pieces.push_back(model_.piece(piece));
    else if (index < vocabulary_.size())
      pieces.push_back({vocabulary_.token(index)}); // one that the vocabulary has besides the model's pieces
    else
      pieces.push_back(model_.piece(model_.unknown()));
  }
  decode_subwords(model_, pieces, text);
}

int32_t sentencepiece::find_marker(std::string_view word) const {
  int32_t piece = model_.find_any(word);
  if (piece >= 0 && model_.piece(piece).type != piece_type::control)
    return -1;
  return vocabulary_.empty() ? piece : vocabulary_.find(word);
}

size_t sentencepiece::longest() const {
  size_t longest = 0;
  for (size_t id = 0; id < model_.size(); ++id)
    longest = std::max(longest, model_.piece(static_cast<int32_t>(id)).text.size());
  return longest;
}

uint64_t sentencepiece::memory(uint64_t) const {
  // Bytes of a piece: its entries in a list and in a hash table, both of which may have just grown, and in sorted lists.
  constexpr uint64_t kPiece = 256;
  return model_.size() * kPiece + kMaxNormalisedBytes * kBytesOfTokenizing;
}

} // namespace xf::rt
