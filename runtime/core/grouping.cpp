#include "runtime/core/grouping.h"

#include <algorithm>
#include <numeric>

namespace xf::rt {

// Tokens whose arithmetic takes as long as reading the weights, on one thread: two operations for each weight and token
// at 100 to 250 GFLOP/s against four bytes at 15 to 35 GB/s. Narrower types speed up both alike. More threads speed up
// the arithmetic more than memory.
static double weight_tokens(int threads) { return 8.0 + 8.0 * threads; }
// What a call costs besides: kernels too short to be efficient, threads that wait for each other.
static double call_tokens(int threads) { return 1.0 + threads; }
// From 32 tokens on a thread's products are as fast as they get. With 128, what one layer's kernels hand to each other is a part of
// a second-level cache of 512 KB to 1 MB (a row of 2048 f32 is 8 KB); with 1024 it is not, and encoders are 2 to 8 % slower.
constexpr int64_t kThreadTokens = 128;
// A device fills its units with more.
constexpr int64_t kDeviceTokens = 2048;

int64_t max_tokens_per_call(int threads, bool on_device) { return on_device ? kDeviceTokens : kThreadTokens * threads; }

double call_cost(int64_t tokens, int threads) {
  // Prefers the most even one of groupings with as many calls.
  double uneven = 1e-6 * static_cast<double>(tokens) * static_cast<double>(tokens);
  return std::max(static_cast<double>(tokens), weight_tokens(threads)) + call_tokens(threads) + uneven;
}

grouping::grouping(arena_plan &plan, int64_t max_sentences)
    : offsets_{plan.add(max_sentences, sizeof(int32_t)), plan.add(max_sentences + 1, sizeof(double)), plan.add(max_sentences + 1, sizeof(int32_t)),
               plan.add(max_sentences, sizeof(int32_t)), plan.add(max_sentences, sizeof(int32_t)),    plan.add(max_sentences, sizeof(int32_t)),
               plan.add(max_sentences, sizeof(int64_t)), plan.add(max_sentences, sizeof(int32_t)),    plan.add(max_sentences, sizeof(int32_t))} {}

void grouping::bind(const arena &memory) {
  lengths_ = memory.as<int32_t>(offsets_.lengths);
  cost_ = memory.as<double>(offsets_.cost);
  last_ = memory.as<int32_t>(offsets_.last);
  sentences_ = memory.as<int32_t>(offsets_.sentences);
  sorted_ = memory.as<int32_t>(offsets_.sorted);
  owners_ = memory.as<int32_t>(offsets_.owners);
  loads_ = memory.as<int64_t>(offsets_.loads);
  ends_ = memory.as<int32_t>(offsets_.ends);
  threads_ = memory.as<int32_t>(offsets_.threads);
}

sentence_groups grouping::split(int64_t count, int threads, int64_t max_tokens, sharing mode) {
  groups_ = 0;
  auto sentences = static_cast<size_t>(count);
  if (mode != sharing::per_thread || !deal(count, threads)) {
    std::iota(sentences_, sentences_ + count, 0);
    std::copy_n(lengths_, count, sorted_);
    cut(0, count, threads, max_tokens, mode);
    return {{sentences_, sentences}, {sorted_, sentences}, {ends_, groups_}, {}};
  }
  int64_t next = 0;
  for (int32_t thread = 0; thread < threads; ++thread) {
    int64_t first = next;
    for (int32_t i = 0; i < count; ++i)
      if (owners_[i] == thread) {
        sentences_[next] = i;
        sorted_[next++] = lengths_[i];
      }
    cut(first, next, 1, max_tokens / threads, mode);
    threads_[thread] = static_cast<int32_t>(groups_);
  }
  return {{sentences_, sentences}, {sorted_, sentences}, {ends_, groups_}, {threads_, static_cast<size_t>(threads)}};
}

// Gives each sentence to a thread; whether all have enough, and about as much as each other.
bool grouping::deal(int64_t count, int threads) {
  int64_t total = std::reduce(lengths_, lengths_ + count, int64_t{0});
  if (threads == 1 || count < threads || total < kMinTokensPerThread * threads)
    return false;
  std::fill_n(loads_, threads, 0);
  for (int64_t i = 0; i < count; ++i) {
    int64_t *min = std::min_element(loads_, loads_ + threads);
    *min += lengths_[i];
    owners_[i] = static_cast<int32_t>(min - loads_);
  }
  auto [min, max] = std::minmax_element(loads_, loads_ + threads);
  return *min >= kMinTokensPerThread && *max * 16 * threads <= total * 17;
}

// Cuts sentences [first, end) into groups.
void grouping::cut(int64_t first, int64_t end, int threads, int64_t max_tokens, sharing mode) {
  const int32_t *lengths = sorted_ + first;
  int64_t count = end - first;
  cost_[0] = 0;
  for (int64_t last = 1; last <= count; ++last) {
    cost_[last] = -1;
    int64_t sum = 0;
    for (int64_t begin = last - 1; begin >= 0; --begin) {
      sum += lengths[begin];
      bool padded = mode == sharing::equal || mode == sharing::padded;
      int64_t tokens = padded ? (last - begin) * lengths[begin] : sum;
      bool alike = mode != sharing::equal || lengths[begin] == lengths[last - 1];
      if (begin + 1 < last && (tokens > max_tokens || !alike))
        break;
      double cost = cost_[begin] + call_cost(tokens, threads);
      if (cost_[last] < 0 || cost < cost_[last]) {
        cost_[last] = cost;
        last_[last] = static_cast<int32_t>(begin);
      }
    }
  }
  // Walked from the end, the groups come last first.
  size_t before = groups_;
  for (int64_t last = count; last > 0; last = last_[last])
    ends_[groups_++] = static_cast<int32_t>(first + last);
  std::reverse(ends_ + before, ends_ + groups_);
}

} // namespace xf::rt
