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
  // For at most `max_texts` texts.
  explicit text_index(size_t max_texts = 0) : slots_(std::bit_ceil(2 * max_texts + 1)) {}

  // Adds a text; false if it is there already, and keeps its index. `text_of` returns an index's text.
  template <typename TextOf> bool add(std::string_view text, int32_t index, TextOf text_of) {
    uint32_t hash = hash_of(text);
    slot &entry = slots_[find_slot(text, hash, text_of)];
    if (entry.index >= 0)
      return false;
    entry = {hash, index};
    return true;
  }
  // The text's index, or -1.
  template <typename TextOf> int32_t find(std::string_view text, TextOf text_of) const {
    return slots_[find_slot(text, hash_of(text), text_of)].index;
  }

private:
  struct slot {
    uint32_t hash = 0;
    int32_t index = -1;
  };
  static uint32_t hash_of(std::string_view text) { return static_cast<uint32_t>(std::hash<std::string_view>()(text)); }
  // The text's slot, or the free one that it would have.
  template <typename TextOf> size_t find_slot(std::string_view text, uint32_t hash, TextOf text_of) const {
    size_t mask = slots_.size() - 1, at = hash & mask;
    while (slots_[at].index >= 0 && (slots_[at].hash != hash || text_of(slots_[at].index) != text))
      at = (at + 1) & mask;
    return at;
  }

  std::vector<slot> slots_;
};

} // namespace xf::rt

#endif
