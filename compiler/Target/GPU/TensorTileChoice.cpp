// Tensor cores multiply faster than operands come to them from the GPU's L2 cache: for each k, a tile of r rows and c columns reads r + c elements
// for r c products, so large tiles read least. But there may be too few of them for all of a GPU's processors, and a large one takes long alone.
// The choice for a number of rows changes no bit.
#include "compiler/Target/GPU/TensorTileChoice.h"
#include "compiler/Target/GPU/TileRanges.h"

#include <array>

namespace xf::gpu {
namespace {

// Of an H100; bytes and products per cycle.
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

/// Cycles for 16 k: of the L2 cache, or of the processor that has most to do.
int64_t cost(const Candidate &candidate, int64_t rows, int64_t columns) {
  int64_t blocks = llvm::divideCeil(rows, candidate.rows()) * llvm::divideCeil(columns, candidate.columns());
  int64_t together = llvm::divideCeil(blocks, kProcessors), bytes = 32 * (candidate.rows() + candidate.columns());
  return std::max({candidate.alone, blocks * bytes / kCacheBytes, together * bytes / kProcessorBytes,
                   together * 16 * candidate.rows() * candidate.columns() / kProcessorProducts});
}

} // namespace

llvm::SmallVector<TensorTileRange> tensorTilesFor(int64_t columns, int64_t fewest) {
  auto costOf = [&](const Candidate &candidate, int64_t rows) { return cost(candidate, rows, columns); };
  auto isLarger = [](const Candidate &found, const Candidate &chosen, int64_t) { return &found > &chosen; }; // tiles only grow
  llvm::SmallVector<TensorTileRange> ranges;
  for (auto [tile, maxRows] : rangesOfRows(kCandidates, fewest, SomeRowsProduct::kRows, costOf, isLarger))
    ranges.push_back({tile->shape, maxRows});
  return ranges;
}

} // namespace xf::gpu
