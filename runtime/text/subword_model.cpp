#include "runtime/text/subword_model.h"

#include "runtime/core/error.h"
#include "runtime/text/protobuf.h"
#include "runtime/text/utf8.h"
#include "runtime/text/vocabulary.h"

#include <algorithm>
#include <cfloat>
#include <charconv>
#include <cmath>

namespace xf::rt {

namespace {

// Pieces that text is never cut into.
bool is_reserved(const subword_piece &piece) {
  return piece.type == piece_type::unknown || piece.type == piece_type::control || piece.type == piece_type::byte;
}

// Field numbers of sentencepiece_model.proto.
enum model_field { kPieces = 1, kTrainer = 2, kNormalizer = 3, kDenormalizer = 5 };
enum piece_field { kText = 1, kScore = 2, kType = 3 };
enum trainer_field { kModelType = 3, kSpaceIsSuffix = 24, kByteFallback = 35, kUnknownSurface = 44 };
enum normalizer_field { kCharacterMap = 2, kAddsSpace = 3, kRemovesSpaces = 4, kEscapesSpaces = 5 };

} // namespace

subword_model::subword_model(std::string_view bytes) {
  for (protobuf_reader model(bytes); model.next();) {
    if (model.field() == kPieces) {
      read_piece(model.bytes());
    } else if (model.field() == kTrainer) {
      for (protobuf_reader trainer(model.bytes()); trainer.next();) {
        if (trainer.field() == kModelType) {
          if (trainer.integer() < 1 || trainer.integer() > 4)
            fail(status::unsupported, "its kind is none of unigram, bpe, word and char");
          kind = static_cast<subword_kind>(trainer.integer());
        } else if (trainer.field() == kSpaceIsSuffix) {
          space_is_suffix = trainer.flag();
        } else if (trainer.field() == kByteFallback) {
          byte_fallback = trainer.flag();
        } else if (trainer.field() == kUnknownSurface) {
          unknown_surface = trainer.bytes();
        }
      }
    } else if (model.field() == kNormalizer) {
      for (protobuf_reader normalizer(model.bytes()); normalizer.next();) {
        if (normalizer.field() == kCharacterMap)
          character_map = normalizer.bytes();
        else if (normalizer.field() == kAddsSpace)
          adds_space = normalizer.flag();
        else if (normalizer.field() == kRemovesSpaces)
          removes_spaces = normalizer.flag();
        else if (normalizer.field() == kEscapesSpaces)
          escapes_spaces = normalizer.flag();
      }
    } else if (model.field() == kDenormalizer) {
      for (protobuf_reader normalizer(model.bytes()); normalizer.next();)
        if (normalizer.field() == kCharacterMap && !normalizer.bytes().empty())
          fail(status::unsupported, "it has rules for denormalising text, which are not known here");
    }
  }
  index_pieces();
}

void subword_model::read_piece(std::string_view bytes) {
  subword_piece piece;
  for (protobuf_reader fields(bytes); fields.next();) {
    if (fields.field() == kText)
      piece.text = fields.bytes();
    else if (fields.field() == kScore)
      piece.score = fields.real();
    else if (fields.field() == kType)
      piece.type = fields.integer() >= 1 && fields.integer() <= 6 ? static_cast<piece_type>(fields.integer()) : piece_type::normal;
  }
  if (piece.text.empty() || find_invalid_utf8(piece.text) != std::string_view::npos || !std::isfinite(piece.score))
    fail(status::invalid_argument, "its piece %zu is empty, no UTF-8, or without a score", pieces_.size());
  if (pieces_.size() >= (1u << 30))
    fail(status::invalid_argument, "it has too many pieces");
  pieces_.push_back(piece);
}

void subword_model::index_pieces() {
  // The greatest score starts just above 0, as it does in the library: scores are logarithms.
  min_score_ = FLT_MAX, max_score_ = FLT_MIN;
  auto reserved_count = static_cast<size_t>(std::count_if(pieces_.begin(), pieces_.end(), is_reserved));
  pieces_by_text_ = text_index(pieces_.size() - reserved_count), reserved_ = text_index(reserved_count);
  for (size_t i = 0; i < pieces_.size(); ++i) {
    const subword_piece &piece = pieces_[i];
    auto id = static_cast<int32_t>(i);
    if (!(is_reserved(piece) ? reserved_ : pieces_by_text_).add(piece.text, id, [this](int32_t other) { return this->piece(other).text; }))
      fail(status::invalid_argument, "its piece '%s' is there twice", shown(piece.text).c_str());
    if (kind == subword_kind::unigram && !is_reserved(piece))
      sorted_.push_back({0, id});
    if (piece.type == piece_type::normal) {
      min_score_ = std::min(min_score_, piece.score);
      max_score_ = std::max(max_score_, piece.score);
    } else if (piece.type == piece_type::user_defined) {
      sorted_user_defined_.push_back({0, id});
    } else if (piece.type == piece_type::unknown) {
      if (unknown_ >= 0)
        fail(status::invalid_argument, "it has two unknown pieces");
      unknown_ = id;
    }
  }
  sort(sorted_);
  sort(sorted_user_defined_);
  if (unknown_ < 0)
    fail(status::invalid_argument, "it has no unknown piece, or is no SentencePiece model");
  std::fill_n(bytes_, 256, unknown_);
  for (size_t i = 0; i < pieces_.size(); ++i) {
    if (pieces_[i].type != piece_type::byte)
      continue;
    std::string_view text = pieces_[i].text;
    uint8_t value = 0;
    bool is_framed = text.size() == 6 && text.starts_with("<0x") && text.back() == '>';
    if (!is_framed || std::from_chars(text.data() + 3, text.data() + 5, value, 16).ptr != text.data() + 5)
      fail(status::invalid_argument, "its piece '%s' is no byte", shown(text).c_str());
    bytes_[value] = static_cast<int32_t>(i);
  }
}

// Sorts by texts, which are compared only where their heads are equal.
void subword_model::sort(std::vector<sorted_piece> &pieces) const {
  for (sorted_piece &each : pieces) {
    std::string_view text = piece(each.id).text;
    for (size_t i = 0; i < sizeof(each.head); ++i)
      each.head = each.head << 8 | (i < text.size() ? static_cast<uint8_t>(text[i]) : 0);
  }
  std::sort(pieces.begin(), pieces.end(), [this](const sorted_piece &x, const sorted_piece &y) {
    return x.head != y.head ? x.head < y.head : piece(x.id).text < piece(y.id).text;
  });
}

int32_t subword_model::find_any(std::string_view text) const {
  int32_t id = find(reserved_, text);
  return id >= 0 ? id : find(text);
}

} // namespace xf::rt
