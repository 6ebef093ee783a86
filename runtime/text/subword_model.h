// A SentencePiece model: pieces of text with scores, and how text is normalised before it is cut into them. Models are read as the
// SentencePiece library writes them (its sentencepiece_model.proto, as protocol buffers), and give the same pieces.
#ifndef RUNTIME_TEXT_SUBWORD_MODEL_H
#define RUNTIME_TEXT_SUBWORD_MODEL_H

#include "runtime/text/text_index.h"
#include "runtime/text/utf8.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace xf::rt {

enum class piece_type : uint8_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };
enum class subword_kind : uint8_t { unigram = 1, bpe = 2, word = 3, character = 4 };

struct subword_piece {
  std::string_view text;
  float score = 0;
  piece_type type = piece_type::normal;
};

class subword_model {
public:
  // The file's bytes outlive the model. Throws what is wrong with them.
  explicit subword_model(std::string_view bytes);

  size_t size() const { return pieces_.size(); }
  const subword_piece &piece(int32_t id) const { return pieces_[static_cast<size_t>(id)]; }
  // The piece with that text if text may be cut into it (a normal, user-defined or unused one), or -1.
  int32_t find(std::string_view text) const { return find(pieces_by_text_, text); }
  // The same, but the unknown piece where there is none.
  int32_t id_of(std::string_view text) const {
    int32_t id = find(text);
    return id >= 0 ? id : unknown_;
  }
  // Any piece, control, byte and unknown ones first, or -1.
  int32_t find_any(std::string_view text) const;
  int32_t unknown() const { return unknown_; }
  // The piece that stands for a byte, or the unknown one.
  int32_t byte_piece(uint8_t byte) const { return bytes_[byte]; }
  // Calls visit(length, id) for each piece that find() knows and the text begins with, shortest first. For unigram models only.
  template <typename Visit> void for_prefixes(std::string_view text, Visit visit) const { walk(sorted_, text, visit); }
  // The length of the longest user-defined piece that the text begins with; 0 if there is none.
  size_t match_user_defined(std::string_view text) const {
    size_t longest = 0;
    walk(sorted_user_defined_, text, [&](size_t length, int32_t) { longest = length; });
    return longest;
  }
  float min_score() const { return min_score_; }
  float max_score() const { return max_score_; }

  subword_kind kind = subword_kind::unigram;
  bool byte_fallback = false, space_is_suffix = false;
  std::string_view unknown_surface = " \xe2\x81\x87 ";
  std::string_view character_map; // of the normaliser; empty: characters stay
  bool adds_space = true, removes_spaces = true, escapes_spaces = true;

private:
  // A piece in a list sorted by texts, with the first bytes of its text, the first one highest: those after its end are 0.
  struct sorted_piece {
    uint64_t head;
    int32_t id;
  };
  // Pieces are in the order of their texts: those that match the text so far lie together, and get fewer with every byte.
  template <typename Visit> void walk(const std::vector<sorted_piece> &sorted, std::string_view text, Visit visit) const {
    auto begin = sorted.begin(), end = sorted.end();
    for (size_t at = 0; at < text.size() && begin != end;) {
      // A piece that ends here comes before those that go on.
      auto byte_of = [&](const sorted_piece &each) {
        int known = at < sizeof(each.head) ? static_cast<uint8_t>(each.head >> (56 - 8 * at)) : 0;
        std::string_view all = piece(each.id).text;
        return known ? known : all.size() > at ? static_cast<uint8_t>(all[at]) : -1;
      };
      int byte = static_cast<uint8_t>(text[at]);
      begin = std::partition_point(begin, end, [&](const sorted_piece &each) { return byte_of(each) < byte; });
      end = std::partition_point(begin, end, [&](const sorted_piece &each) { return byte_of(each) == byte; });
      ++at;
      if (begin != end && piece(begin->id).text.size() == at)
        visit(at, begin->id);
    }
  }
  int32_t find(const text_index &index, std::string_view text) const {
    return index.find(text, [this](int32_t id) { return piece(id).text; });
  }
  void read_piece(std::string_view bytes);
  void index_pieces();
  void sort(std::vector<sorted_piece> &pieces) const;

  std::vector<subword_piece> pieces_;
  text_index pieces_by_text_, reserved_;
  std::vector<sorted_piece> sorted_, sorted_user_defined_;
  int32_t unknown_ = -1;
  int32_t bytes_[256];
  float min_score_, max_score_;
};

} // namespace xf::rt

#endif
