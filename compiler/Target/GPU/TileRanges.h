// Which of several tiles a product has for how many rows.
#ifndef XF_COMPILER_TARGET_GPU_TILERANGES_H
#define XF_COMPILER_TARGET_GPU_TILERANGES_H

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"

#include <optional>

namespace xf::gpu {

template <typename Candidate> struct RowRange {
  const Candidate *tile;
  std::optional<int64_t> maxRows; // rows; none: however many there are
};

/// The candidates of the least `cost(candidate, rows)` for ascending ranges of rows above `fewest`, which end at multiples of `step`; the last
/// range has no end. A new range begins where `isWorth(found, chosen, rows)` holds for the cheapest candidate and the current one.
template <typename Candidates, typename Cost, typename IsWorth>
auto rangesOfRows(const Candidates &candidates, int64_t fewest, int64_t step, Cost cost, IsWorth isWorth) {
  constexpr int64_t kMaxRows = 8192; // beyond these there is nothing to gain
  llvm::SmallVector<RowRange<typename Candidates::value_type>> ranges;
  for (int64_t rows = llvm::alignTo(fewest + 1, step); rows <= kMaxRows; rows += step) {
    const auto *found = llvm::min_element(candidates, [&](const auto &a, const auto &b) { return cost(a, rows) < cost(b, rows); });
    if (ranges.empty() || isWorth(*found, *ranges.back().tile, rows))
      ranges.push_back({found, rows});
    ranges.back().maxRows = rows;
  }
  ranges.back().maxRows = std::nullopt;
  return ranges;
}

} // namespace xf::gpu

#endif // XF_COMPILER_TARGET_GPU_TILERANGES_H
