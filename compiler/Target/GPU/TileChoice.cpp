// A large tile takes the least time for an element, but there may be too few of them for all of a GPU's processors, or so many that the last ones
// run alone. The choice for a number of rows changes no bit.
#include "compiler/Target/GPU/TileChoice.h"
#include "compiler/Target/GPU/TileRanges.h"

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

/// The cycles of the processor that has most to do.
int64_t cost(const Candidate &candidate, int64_t rows, int64_t columns) {
  int64_t blocks = llvm::divideCeil(rows, candidate.shape.rows) * llvm::divideCeil(columns, candidate.shape.columns);
  return std::max<int64_t>(candidate.alone, llvm::divideCeil(blocks, kProcessors) * candidate.beside);
}

} // namespace

llvm::SmallVector<TileRange> tilesFor(int64_t columns, int64_t fewest) {
  auto costOf = [&](const Candidate &candidate, int64_t rows) { return cost(candidate, rows, columns); };
  // A change of tiles must save a tenth of the time at least.
  auto isWorth = [&](const Candidate &found, const Candidate &chosen, int64_t rows) { return 10 * costOf(chosen, rows) > 11 * costOf(found, rows); };
  llvm::SmallVector<TileRange> ranges;
  for (auto [tile, maxRows] : rangesOfRows(kCandidates, fewest, kCandidates.back().shape.rows, costOf, isWorth))
    ranges.push_back({tile->shape, maxRows});
  return ranges;
}

} // namespace xf::gpu
