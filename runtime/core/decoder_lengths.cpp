#include "runtime/core/decoder_lengths.h"

#include <algorithm>

namespace xf::rt {

int64_t decoder_lengths::unpadded(std::span<const int32_t> ids) const {
  size_t length = ids.size();
  while (length > 0 && g_.pad >= 0 && ids[length - 1] == g_.pad)
    --length;
  return static_cast<int64_t>(length);
}

int64_t decoder_lengths::longest_result(const search_options &options, int64_t sentence, int64_t source_length, int64_t given) const {
  // The last token chosen is never read.
  int64_t room = g_.target - given + 1, length = room;
  if (options.has_targets())
    length = static_cast<int64_t>(options.targets.row(sentence).size());
  else if (options.max_length > 0)
    length = options.max_length;
  else if (g_.max_length_per_source != 0 || g_.max_length_base != 0)
    length = g_.max_length_per_source * source_length + g_.max_length_base;
  return std::clamp<int64_t>(length, 1, room);
}

int64_t decoder_lengths::positions(const search_options &options, int64_t sentence, int64_t source_length, std::span<const int32_t> prompt) const {
  int64_t read = std::min<int64_t>(given(prompt), g_.target);
  return read + longest_result(options, sentence, source_length, read) - 1;
}

} // namespace xf::rt
