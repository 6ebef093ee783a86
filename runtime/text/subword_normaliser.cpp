// Normalisation by a table of a SentencePiece model: a double-array trie (darts-clone's format) that maps what is replaced to the position
// of its replacement in a list of strings.
#include "runtime/core/error.h"
#include "runtime/text/subwords.h"
#include "runtime/text/utf8.h"

#include <cstring>

namespace xf::rt {

namespace {

class character_map {
public:
  explicit character_map(std::string_view bytes) {
    if (bytes.empty())
      return;
    uint32_t size = 0;
    if (bytes.size() < 4)
      damaged();
    std::memcpy(&size, bytes.data(), 4);
    if (size % 4 != 0 || size == 0 || size > bytes.size() - 4)
      damaged();
    units_ = bytes.substr(4, size);
    strings_ = bytes.substr(4 + size);
    if (strings_.empty() || strings_.back() != '\0')
      damaged();
  }

  bool empty() const { return units_.empty(); }

  // The length of the longest string of the trie that the text begins with, and its replacement; 0 if there is none.
  size_t match(std::string_view text, std::string_view &replacement) const {
    size_t length = 0;
    uint32_t at = 0, found = 0, unit = unit_at(at);
    at ^= offset(unit);
    for (size_t i = 0; i < text.size(); ++i) {
      auto byte = static_cast<uint8_t>(text[i]);
      at ^= byte;
      unit = unit_at(at);
      if ((unit & 0x800000ffu) != byte)
        break;
      at ^= offset(unit);
      if (unit >> 8 & 1) {
        found = unit_at(at) & 0x7fffffffu;
        length = i + 1;
      }
    }
    if (length > 0) {
      if (found >= strings_.size())
        damaged();
      replacement = strings_.substr(found, strings_.find('\0', found) - found);
    }
    return length;
  }

private:
  [[noreturn]] static void damaged() { fail(status::invalid_argument, "the SentencePiece model's table of characters is damaged"); }
  static uint32_t offset(uint32_t unit) { return (unit >> 10) << ((unit & (1u << 9)) >> 6); }
  uint32_t unit_at(uint32_t index) const {
    if (index >= units_.size() / 4)
      damaged();
    uint32_t unit;
    std::memcpy(&unit, units_.data() + size_t(index) * 4, 4);
    return unit;
  }

  std::string_view units_, strings_;
};

// The bytes that are taken from the text, and what they become.
struct replaced {
  size_t length;
  std::string_view by;
};

replaced next(const subword_model &model, const character_map &map, std::string_view text) {
  if (size_t length = model.match_user_defined(text))
    return {length, text.substr(0, length)};
  std::string_view by;
  if (!map.empty())
    if (size_t length = map.match(text, by))
      return {length, by};
  size_t length = utf8_length(text, 0);
  return length ? replaced{length, text.substr(0, length)} : replaced{1, kReplacement};
}

} // namespace

void normalise(const subword_model &model, std::string_view text, std::string &normalised) {
  character_map map(model.character_map);
  normalised.clear();
  std::string_view space = model.escapes_spaces ? kSpacePiece : " ";
  while (model.removes_spaces && !text.empty()) {
    replaced first = next(model, map, text);
    if (first.by != " ")
      break;
    text.remove_prefix(first.length);
  }
  if (text.empty())
    return;
  if (model.adds_space && !model.space_is_suffix)
    normalised += space;
  bool after_space = model.removes_spaces;
  while (!text.empty()) {
    replaced part = next(model, map, text);
    text.remove_prefix(part.length);
    if (normalised.size() + part.by.size() * space.size() > kMaxNormalisedBytes)
      fail(status::invalid_argument, "it has more than %zu bytes when it is normalised", kMaxNormalisedBytes);
    while (after_space && part.by.starts_with(' '))
      part.by.remove_prefix(1);
    for (char c : part.by)
      if (c == ' ')
        normalised += space;
      else
        normalised += c;
    if (!part.by.empty())
      after_space = part.by.ends_with(' ');
    after_space &= model.removes_spaces;
  }
  while (model.removes_spaces && normalised.ends_with(space))
    normalised.resize(normalised.size() - space.size());
  if (model.adds_space && model.space_is_suffix)
    normalised += space;
}

} // namespace xf::rt
