// Which sentences go through the encoder in one call.
//
// A call does the arithmetic of its tokens, which are n * L for n sentences padded to L, and reads the weights once, which takes as
// long as the arithmetic of some number of tokens; both go on at the same time. In units of a token's arithmetic it costs
// max(tokens, weights) + call. Sentences sorted by length are cut into groups of the smallest sum of costs: few sentences
// are padded to one length, many share the weights, up to as many as the caches hold the rows of.
#ifndef RUNTIME_CORE_GROUPING_H
#define RUNTIME_CORE_GROUPING_H

#include "runtime/core/arena.h"

#include <cstdint>
#include <span>

namespace xf::rt {

// What a call on `tokens` tokens, padding included, costs.
double call_cost(int64_t tokens, int threads);
// Tokens that a call should have at most, padding included, unless it is of one sentence.
int64_t most_tokens(int threads, bool on_device);

// How sentences of different lengths share a call: not at all, padded to the longest, or behind each other.
enum class sharing { equal, padded, packed };

class grouping {
public:
  // For at most `most` sentences.
  grouping(arena_plan &plan, int64_t most);
  void bind(const arena &memory);

  // Where the caller writes the lengths, descending.
  int32_t *lengths() { return lengths_; }
  // Splits the first `count` of them into groups of `most` tokens at most, or one sentence. Returns the groups' ends, ascending, the
  // last one `count`; valid until the next call.
  std::span<const int32_t> split(int64_t count, int threads, int64_t most, sharing how);

private:
  uint64_t lengths_place_, cost_place_, ends_place_;
  int32_t *lengths_ = nullptr;
  double *cost_ = nullptr; // of the first i sentences
  int32_t *ends_ = nullptr;
};

} // namespace xf::rt

#endif
