// How many tokens decoders are given, and how many they may give.
#ifndef RUNTIME_CORE_DECODER_LENGTHS_H
#define RUNTIME_CORE_DECODER_LENGTHS_H

#include "runtime/abi/xf_abi.h"
#include "runtime/core/search_options.h"

#include <cstdint>
#include <span>

namespace xf::rt {

class decoder_lengths {
public:
  explicit decoder_lengths(const xf_abi_generate &g) : g_(g) {}

  // The length of a source or a prompt, without the padding behind it.
  int64_t unpadded(std::span<const int32_t> ids) const;
  // Whether the decoder's first token is not the prompt's own.
  bool needs_start(std::span<const int32_t> prompt) const { return g_.start >= 0 && (prompt.empty() || prompt[0] != g_.start); }
  // The tokens that the decoder reads at first.
  int64_t given(std::span<const int32_t> prompt) const { return needs_start(prompt) + static_cast<int64_t>(prompt.size()); }
  // The most tokens of a sentence's result, if its source has `source_length` tokens and its decoder is given `given`.
  int64_t longest_result(const search_options &options, int64_t sentence, int64_t source_length, int64_t given) const;
  int64_t shortest_result(const search_options &options) const { return options.min_length >= 0 ? options.min_length : g_.min_length; }
  // The most positions of the states that a sentence fills, with what its decoder is given. What is too long, and will be refused, needs no more than
  // the limits.
  int64_t positions(const search_options &options, int64_t sentence, int64_t source_length, std::span<const int32_t> prompt) const;

private:
  const xf_abi_generate &g_;
};

} // namespace xf::rt

#endif
