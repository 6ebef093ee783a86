// Tensor cores multiply faster than operands come to them from the GPU's second cache: a tile of r rows and c columns reads r + c elements of each k
// for r c products, so large ones read least. But there may be too few of them for all of a GPU's processors, and a large one takes long alone. What is
// chosen for a number of rows changes no bit.
#include "compiler/Target/GPU/TensorTileChoice.h"

#include <array>

namespace xf::gpu {
namespace {

// Of an H100; bytes and products of a cycle.
constexpr int64_t kProcessors = 132, kCacheBytes = 3500, kProcessorBytes = 50, kProcessorProducts = 1100;

/// A tile and the cycles that it takes for 16 k, alone on a multiprocessor (measured).
struct Candidate {
  std::optional<ManyRowsProduct::Shape> shape;
  int64_t alone;
  int64_t rows() const { return shape ? shape->rows : SomeRowsProduct::kRows; }
  int64_t columns() const { return shape ? shape->columns() : SomeRowsProduct::kWarpColumns; }
};
constexpr std::array<Candidate, 4> kCandidates{{
    {std::nullopt, 84},
    {ManyRowsProduct::Shape{64, 4, 32}, 210},
    {ManyRowsProduct::Shape{128, 4, 64}, 440},
    {ManyRowsProduct::Shape{128, 8, 64}, 660},
}};

/// Cycles for 16 k: of the second cache, or of the processor that has most to do.
int64_t cost(const Candidate &candidate, int64_t rows, int64_t columns) {
  int64_t blocks = llvm::divideCeil(rows, candidate.rows()) * llvm::divideCeil(columns, candidate.columns());
  int64_t together = llvm::divideCeil(blocks, kProcessors), bytes = 32 * (candidate.rows() + candidate.columns());
  return std::max({candidate.alone, blocks * bytes / kCacheBytes, together * bytes / kProcessorBytes,
                   together * 16 * candidate.rows() * candidate.columns() / kProcessorProducts});
}

const Candidate &best(int64_t rows, int64_t columns) {
  return *llvm::min_element(kCandidates, [&](const Candidate &a, const Candidate &b) { return cost(a, rows, columns) < cost(b, rows, columns); });
}

} // namespace

llvm::SmallVector<TensorTileRange> tensorTilesFor(int64_t columns, int64_t fewest) {
  // Behind so many rows there is nothing to win. Tiles only grow.
  constexpr int64_t kStep = SomeRowsProduct::kRows, kMostRows = 8192;
  llvm::SmallVector<TensorTileRange> ranges;
  const Candidate *chosen = nullptr;
  for (int64_t rows = llvm::alignTo(fewest + 1, kStep); rows <= kMostRows; rows += kStep) {
    const Candidate &found = best(rows, columns);
    if (!chosen || &found > chosen) {
      chosen = &found;
      ranges.push_back({found.shape, rows});
    }
    ranges.back().most = rows;
  }
  ranges.back().most = std::nullopt;
  return ranges;
}

} // namespace xf::gpu
