#include "runtime/core/sentence_window.h"

namespace xf::rt {

sentence_window::sentence_window(arena_plan &plan, int64_t batch)
    : size_(batch * kWindowBatches), order_offset_(plan.add(static_cast<uint64_t>(size_), sizeof(int32_t))) {}

int64_t sentence_window::start(const token_rows &rows, int64_t first, function_ref<bool(int64_t sentence)> accepts) {
  clear();
  rows_ = &rows;
  first_ = first;
  int64_t end = first + std::min(size_, rows.count - first);
  for (int64_t i = first; i < end; ++i)
    if (accepts(i))
      order_[count_++] = static_cast<int32_t>(i - first);
  auto length = [&](int32_t each) { return rows.row(first + each).size(); };
  std::sort(order_, order_ + count_, [&](int32_t x, int32_t y) { return length(x) != length(y) ? length(x) > length(y) : x < y; });
  return end;
}

} // namespace xf::rt
