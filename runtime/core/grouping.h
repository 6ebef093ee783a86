// Which sentences go through the encoder in one call, and on which threads.
//
// A call does the arithmetic of its tokens, which are n * L for n sentences padded to L, and reads the weights once, which takes as
// long as the arithmetic of some number of tokens; both go on at the same time. In units of a token's arithmetic it costs
// max(tokens, weights) + call. Sentences sorted by length are cut into groups of the smallest sum of costs: few sentences
// are padded to one length, many share the weights, up to as many as the caches hold the rows of.
//
// A call by all threads together waits for the slowest behind each kernel. Where sentences are enough, each thread gets its own,
// and its own groups: the longest sentence goes to the thread that has the fewest tokens. So it is if each thread then has at
// least kMinTokensPerThread, fewer being bound by the weights, which threads together read once, and the most is at most a sixteenth above the mean.
#ifndef RUNTIME_CORE_GROUPING_H
#define RUNTIME_CORE_GROUPING_H

#include "runtime/core/arena.h"

#include <cstdint>
#include <span>

namespace xf::rt {

// What a call on `tokens` tokens, padding included, costs.
double call_cost(int64_t tokens, int threads);
// Tokens that a call should have at most, padding included, unless it is of one sentence.
int64_t max_tokens_per_call(int threads, bool on_device);
// Tokens that each thread must get to work alone.
constexpr int64_t kMinTokensPerThread = 32;

// How sentences of different lengths share a call: not at all, padded to the longest, or packed back to back; `per_thread`: packed, and
// threads may each have groups of their own.
enum class sharing { equal, padded, packed, per_thread };

struct sentence_groups {
  // Each sentence's index in the lengths, and its length: those of a group follow each other, longest first.
  std::span<const int32_t> sentences, lengths;
  std::span<const int32_t> ends;    // of the groups, ascending
  std::span<const int32_t> threads; // the end of each thread's groups, ascending, where threads work alone; empty: all share each call

  int32_t begin(size_t group) const { return group == 0 ? 0 : ends[group - 1]; }
};

class grouping {
public:
  // For at most `max_sentences`.
  grouping(arena_plan &plan, int64_t max_sentences);
  void bind(const arena &memory);

  // Where the caller writes the lengths, descending.
  int32_t *lengths() { return lengths_; }
  // Groups the first `count` of them; a group has at most `max_tokens` tokens, or a thread's share of these where they work alone, or one
  // sentence. Valid until the next call.
  sentence_groups split(int64_t count, int threads, int64_t max_tokens, sharing mode);

private:
  bool deal(int64_t count, int threads);
  void cut(int64_t first, int64_t end, int threads, int64_t max_tokens, sharing mode);

  struct offsets {
    uint64_t lengths, cost, last, sentences, sorted, owners, loads, ends, threads;
  } offsets_;
  int32_t *lengths_ = nullptr;
  double *cost_ = nullptr;  // of the first i sentences that are cut
  int32_t *last_ = nullptr; // where the last group of these begins
  int32_t *sentences_ = nullptr, *sorted_ = nullptr, *ends_ = nullptr, *threads_ = nullptr; // of sentence_groups
  int32_t *owners_ = nullptr; // of each sentence the thread
  int64_t *loads_ = nullptr;  // of each thread the tokens
  size_t groups_ = 0;
};

} // namespace xf::rt

#endif
