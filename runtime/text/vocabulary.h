// The tokens of a vocabulary by their ids, and back.
#ifndef RUNTIME_TEXT_VOCABULARY_H
#define RUNTIME_TEXT_VOCABULARY_H

#include "runtime/text/text_index.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace xf::rt {

class vocabulary {
public:
  // A token a line; line n is token n. The text outlives the vocabulary.
  explicit vocabulary(std::string_view text);

  bool empty() const { return tokens_.empty(); }
  size_t size() const { return tokens_.size(); }
  std::string_view token(size_t id) const { return tokens_[id]; }
  // The token's id, the lowest if several lines hold it, or -1.
  int32_t find(std::string_view token) const;

private:
  std::vector<std::string_view> tokens_;
  text_index ids_;
};

// Takes the first line from a text that is not empty, and returns it without its end, which may be that of DOS.
std::string_view take_line(std::string_view &text);
// A token as a message shows it.
std::string shown(std::string_view token);

} // namespace xf::rt

#endif
