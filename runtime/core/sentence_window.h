// The sentences of a call that wait: they are looked at in windows, and in each the longest comes first, so that those which are computed
// together are alike.
#ifndef RUNTIME_CORE_SENTENCE_WINDOW_H
#define RUNTIME_CORE_SENTENCE_WINDOW_H

#include "runtime/core/arena.h"
#include "runtime/core/function_ref.h"
#include "runtime/core/token_rows.h"

#include <algorithm>
#include <cstdint>

namespace xf::rt {

// A window has so many sentences for each that may be computed at once.
constexpr int64_t kWindowBatches = 16;

class sentence_window {
public:
  // For at most `batch` sentences at once.
  sentence_window(arena_plan &plan, int64_t batch);
  void bind(const arena &memory) { order_ = memory.as<int32_t>(order_offset_); }

  // There are no rows, and none waits.
  void clear() { rows_ = nullptr, count_ = next_ = 0; }
  // Looks at a window of the rows from `first` on: those that `accepts` holds for wait now, and no others. Returns where the next window
  // begins.
  int64_t start(const token_rows &rows, int64_t first, function_ref<bool(int64_t sentence)> accepts);
  // Takes all rows that `accepts` holds for in batches: calls f(count) for the first `count` of them, at most `max_batch`, that wait.
  template <typename F> void for_batches(const token_rows &rows, int64_t max_batch, function_ref<bool(int64_t sentence)> accepts, F f) {
    for (int64_t next = 0; next < rows.count;) {
      next = start(rows, next, accepts);
      while (waiting() > 0) {
        int64_t count = std::min(max_batch, waiting());
        f(count);
        pop(count);
      }
    }
  }

  // Null where there are none.
  const token_rows *rows() const { return rows_; }
  int64_t waiting() const { return count_ - next_; }
  // The index of the one at this position among those that wait, 0 being the first, and how many tokens it has.
  int64_t sentence(int64_t position) const { return first_ + order_[next_ + position]; }
  int32_t length(int64_t position) const { return static_cast<int32_t>(rows_->row(sentence(position)).size()); }
  // The first `count` of them wait no longer.
  void pop(int64_t count) { next_ += count; }

private:
  int64_t size_;
  uint64_t order_offset_;
  int32_t *order_ = nullptr; // counted from `first_`
  const token_rows *rows_ = nullptr;
  int64_t first_ = 0, count_ = 0, next_ = 0;
};

} // namespace xf::rt

#endif
