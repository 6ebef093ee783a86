#include "runtime/core/row_history.h"

#include <algorithm>

namespace xf::rt {

row_history::row_history(arena_plan &plan, int64_t rows, int64_t positions)
    : positions_(positions), ids_offset_(plan.add(static_cast<uint64_t>(rows * positions), sizeof(uint64_t))),
      lengths_offset_(plan.add(static_cast<uint64_t>(rows), sizeof(int64_t))) {}

void row_history::append(int32_t row, int64_t past, int64_t count) {
  for (int64_t position = lengths_[row]; position < past; ++position)
    of(row)[position] = 0;
  lengths_[row] = std::max(lengths_[row], past + count);
  for (int64_t position = past; position < past + count; ++position)
    of(row)[position] = next_id_++;
}

int64_t row_history::shared(int32_t from, int32_t to, int64_t positions) const {
  const uint64_t *a = of(from), *b = of(to);
  positions = std::min({positions, lengths_[from], lengths_[to]});
  int64_t position = 0;
  while (position < positions && a[position] == b[position] && a[position] >= first_valid_)
    ++position;
  return position;
}

void row_history::copy(int32_t from, int32_t to, int64_t positions) {
  lengths_[to] = std::min(positions, lengths_[from]);
  std::copy_n(of(from), lengths_[to], of(to));
}

} // namespace xf::rt
