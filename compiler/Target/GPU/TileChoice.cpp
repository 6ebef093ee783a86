// A large tile takes the least time for an element, but there may be too few of them for all of a GPU's processors, or so many that the last ones
// run alone. What is chosen for a number of rows changes no bit.
#include "compiler/Target/GPU/TileChoice.h"

#include "llvm/Support/MathExtras.h"

#include <array>

namespace xf::gpu {
namespace {

constexpr int64_t kProcessors = 132; // of an H100

/// A tile and what it costs a multiprocessor, in cycles for one k: alone, waiting for what its few warps read of shared memory, and beside others.
struct Candidate {
  TileShape shape;
  int64_t alone, beside;
};
constexpr std::array<Candidate, 4> kCandidates{{
    {{64, 128, 8, 8, 8, 3}, 84, 76},
    {{64, 64, 8, 4, 16, 4}, 46, 43},
    {{32, 64, 4, 4, 32, 4}, 27, 25},
    {{32, 32, 2, 4, 32, 4}, 17, 15},
}};
static_assert(kCandidates[0].shape.isPossible() && kCandidates[1].shape.isPossible() && kCandidates[2].shape.isPossible() &&
              kCandidates[3].shape.isPossible());

/// Of the processor that has most to do.
int64_t cost(const Candidate &candidate, int64_t rows, int64_t columns) {
  int64_t blocks = llvm::divideCeil(rows, candidate.shape.rows) * llvm::divideCeil(columns, candidate.shape.columns);
  return std::max<int64_t>(candidate.alone, llvm::divideCeil(blocks, kProcessors) * candidate.beside);
}

const Candidate &best(int64_t rows, int64_t columns) {
  return *llvm::min_element(kCandidates, [&](const Candidate &a, const Candidate &b) { return cost(a, rows, columns) < cost(b, rows, columns); });
}

} // namespace

llvm::SmallVector<TileRange> tilesFor(int64_t columns, int64_t fewest) {
  // Tiles end with multiples of the lowest one's rows. Behind so many rows there is nothing to win.
  constexpr int64_t kStep = kCandidates.back().shape.rows, kMostRows = 8192;
  llvm::SmallVector<TileRange> ranges;
  const Candidate *chosen = nullptr;
  for (int64_t rows = llvm::alignTo(fewest + 1, kStep); rows <= kMostRows; rows += kStep) {
    const Candidate &found = best(rows, columns);
    // Another tile is worth a tenth of the time at least.
    if (!chosen || 10 * cost(*chosen, rows, columns) > 11 * cost(found, rows, columns)) {
      chosen = &found;
      ranges.push_back({found.shape, rows});
    }
    ranges.back().most = rows;
  }
  ranges.back().most = std::nullopt;
  return ranges;
}

} // namespace xf::gpu
