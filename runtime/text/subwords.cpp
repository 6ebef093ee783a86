#include "runtime/text/subwords.h"

#include "runtime/text/utf8.h"

#include <charconv>

namespace xf::rt {

size_t encode_subwords(const subword_model &model, std::string_view text, size_t max_pieces, std::vector<int32_t> &ids) {
  std::string normalised;
  normalise(model, text, normalised);
  std::vector<subword> pieces;
  switch (model.kind) {
  case subword_kind::unigram:
    tokenize_unigram(model, normalised, pieces);
    break;
  case subword_kind::bpe:
    tokenize_bpe(model, normalised, pieces);
    break;
  case subword_kind::word:
    tokenize_words(model, normalised, pieces);
    break;
  case subword_kind::character:
    tokenize_characters(model, normalised, pieces);
    break;
  }
  size_t count = 0;
  auto append = [&](int32_t id) {
    if (count++ < max_pieces)
      ids.push_back(id);
  };
  bool after_unknown = false;
  for (const subword &piece : pieces) {
    bool unknown = piece.id == model.unknown();
    if (unknown && model.byte_fallback) {
      for (char c : piece.text)
        append(model.byte_piece(static_cast<uint8_t>(c)));
    } else if (!unknown || !after_unknown) {
      append(piece.id); // unknown pieces that follow each other are one
    }
    after_unknown = unknown;
  }
  return count;
}

namespace {

// Appends bytes as text, and replaces those that are not UTF-8. Texts end with a zero byte, so they hold none.
void append_bytes(std::string &bytes, std::string &text) {
  for (size_t at = 0; at < bytes.size();) {
    size_t length = bytes[at] ? utf8_length(bytes, at) : 0;
    text += length ? std::string_view(bytes).substr(at, length) : kReplacement;
    at += length ? length : 1;
  }
  bytes.clear();
}

} // namespace

void decode_subwords(const subword_model &model, std::span<const subword_piece> pieces, std::string &text) {
  std::string decoded, bytes;
  bool at_begin = true, took_space = false;
  for (const subword_piece &piece : pieces) {
    if (piece.type == piece_type::byte) {
      unsigned value = 0;
      std::from_chars(piece.text.data() + 3, piece.text.data() + 5, value, 16);
      bytes += static_cast<char>(value);
      continue;
    }
    append_bytes(bytes, decoded);
    if (took_space || !decoded.empty())
      at_begin = false;
    took_space = false;
    if (piece.type == piece_type::control)
      continue;
    if (piece.type == piece_type::unknown) {
      decoded += model.unknown_surface;
      continue;
    }
    // Drops the blank that was put before the text.
    std::string_view rest = piece.text;
    if (at_begin && (model.adds_space || model.removes_spaces) && rest.starts_with(kSpacePiece)) {
      rest.remove_prefix(kSpacePiece.size());
      took_space = !model.removes_spaces;
    }
    for (size_t at = 0; at < rest.size();) {
      bool space = rest.substr(at).starts_with(kSpacePiece);
      decoded += space ? ' ' : rest[at];
      at += space ? kSpacePiece.size() : 1;
    }
  }
  append_bytes(bytes, decoded);
  text += decoded;
}

} // namespace xf::rt
