#include "runtime/core/grouping.h"

#include <algorithm>

namespace xf::rt {

// Tokens whose arithmetic takes as long as reading the weights, on one thread: two operations for each weight and token
// at 100 to 250 GFLOP/s against four bytes at 15 to 35 GB/s. Narrower types speed up both alike. More threads speed up
// the arithmetic more than memory.
static double weight_tokens(int threads) { return 8.0 + 8.0 * threads; }
// What a call costs beside: kernels too short to be efficient, threads that wait for each other.
static double call_tokens(int threads) { return 1.0 + threads; }
// From 32 tokens on a thread's products are as fast as they get. With 128, what one layer's kernels hand to each other is a part of
// a second-level cache of 512 KB to 1 MB (a row of 2048 f32 is 8 KB); with 1024 it is not, and encoders are 2 to 8 % slower.
constexpr int64_t kThreadTokens = 128;
// A device fills its units with more.
constexpr int64_t kDeviceTokens = 2048;

int64_t most_tokens(int threads, bool on_device) { return on_device ? kDeviceTokens : kThreadTokens * threads; }

double call_cost(int64_t tokens, int threads) {
  // Of groupings with as many calls, the most even one.
  double uneven = 1e-6 * static_cast<double>(tokens) * static_cast<double>(tokens);
  return std::max(static_cast<double>(tokens), weight_tokens(threads)) + call_tokens(threads) + uneven;
}

grouping::grouping(arena_plan &plan, int64_t most)
    : lengths_place_(plan.add(most, sizeof(int32_t))), cost_place_(plan.add(most + 1, sizeof(double))),
      ends_place_(plan.add(most + 1, sizeof(int32_t))) {}

void grouping::bind(const arena &memory) {
  lengths_ = memory.as<int32_t>(lengths_place_);
  cost_ = memory.as<double>(cost_place_);
  ends_ = memory.as<int32_t>(ends_place_);
}

std::span<const int32_t> grouping::split(int64_t count, int threads, int64_t most, sharing how) {
  // ends_[i]: where the last group of the first i sentences begins.
  cost_[0] = 0;
  for (int64_t end = 1; end <= count; ++end) {
    cost_[end] = -1;
    int64_t own = 0;
    for (int64_t begin = end - 1; begin >= 0; --begin) {
      own += lengths_[begin];
      int64_t tokens = how == sharing::packed ? own : (end - begin) * lengths_[begin];
      bool alike = how != sharing::equal || lengths_[begin] == lengths_[end - 1];
      if (begin + 1 < end && (tokens > most || !alike))
        break;
      double cost = cost_[begin] + call_cost(tokens, threads);
      if (cost_[end] < 0 || cost < cost_[end]) {
        cost_[end] = cost;
        ends_[end] = static_cast<int32_t>(begin);
      }
    }
  }
  // Walked from the end, the groups come last first: they are written from the array's end on.
  int64_t first = count + 1;
  for (int64_t end = count; end > 0;) {
    int64_t begin = ends_[end];
    ends_[--first] = static_cast<int32_t>(end);
    end = begin;
  }
  return {ends_ + first, static_cast<size_t>(count + 1 - first)};
}

} // namespace xf::rt
