// Finds the indices of texts in a list: a hash table with open addressing, where a text is in the first free slot from that of its hash on.
// Programs with large vocabularies fill one when they start, which takes half as long as the standard library's, and destroy it when they end.
#ifndef RUNTIME_TEXT_TEXT_INDEX_H
#define RUNTIME_TEXT_TEXT_INDEX_H

#include <bit>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace xf::rt {

class text_index {
public:
  // For at most `most` texts.
  explicit text_index(size_t most = 0) : slots_(std::bit_ceil(2 * most + 1)) {}

  // Adds a text; false if it is there already, and keeps its number. `text_of` returns a number's text.
  template <typename TextOf> bool add(std::string_view text, int32_t number, TextOf text_of) {
    uint32_t hash = hash_of(text);
    slot &place = slots_[place_of(text, hash, text_of)];
    if (place.number >= 0)
      return false;
    place = {hash, number};
    return true;
  }
  // The text's number, or -1.
  template <typename TextOf> int32_t find(std::string_view text, TextOf text_of) const {
    return slots_[place_of(text, hash_of(text), text_of)].number;
  }

private:
  struct slot {
    uint32_t hash = 0;
    int32_t number = -1;
  };
  static uint32_t hash_of(std::string_view text) { return static_cast<uint32_t>(std::hash<std::string_view>()(text)); }
  // The text's slot, or the free one that it would have.
  template <typename TextOf> size_t place_of(std::string_view text, uint32_t hash, TextOf text_of) const {
    size_t mask = slots_.size() - 1, at = hash & mask;
    while (slots_[at].number >= 0 && (slots_[at].hash != hash || text_of(slots_[at].number) != text))
      at = (at + 1) & mask;
    return at;
  }

  std::vector<slot> slots_;
};

} // namespace xf::rt

#endif
