#include "compiler/Target/CPU/ContractBlocking.h"

#include "compiler/Target/CPU/InterleavedRows.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

namespace xf::cpu {

/// The most weights that a chunk of rows is multiplied by before the next ones. They, those that are prefetched meanwhile and the rows are to
/// take about half of a second-level cache of 1 MB, since other data passes through it, too.
static constexpr int64_t kBlockBytes = 128 << 10;
static constexpr int64_t kMaxBlockPanels = 8;
/// Longer parts of rows, in lines of a panel, are too much for the second-level cache.
static constexpr int64_t kMaxLines = 512;
/// Interleaving a row takes as long as multiplying it by half a panel.
static constexpr int64_t kInterleavedPanels = 16;
/// Making panels f32 takes about as long as two blocks of rows take to multiply by them if they do it themselves, with registers to spare.
static constexpr int64_t kWidenedBlocks = 4;
/// Long rows that are made f32 anyway are interleaved part by part, each for as many panels as their sums leave room for.
static constexpr int64_t kWidenedPanels = 32;

/// Panels of `lines` lines that make a block.
static int64_t panelsOf(int64_t lines) {
  uint64_t maxPanels = kBlockBytes / (std::max<int64_t>(lines, 1) * kLineBytes);
  return std::clamp<int64_t>(llvm::bit_floor(maxPanels), 2, kMaxBlockPanels);
}

ContractBlocking::ContractBlocking(Isa isa, const WeightPanels &weight) : tileRows(blockRows(isa, weight.factor)) {
  int64_t group = mlir::xf::panelGroup(weight.type);
  // Long rows with an odd number of elements are not split into parts.
  widens = widensRows(isa, weight.factor) && takesInterleaved(isa, tileRows, Factor::f32) && (weight.tail == 0 || weight.depth * group <= kMaxLines);
  int64_t groupLines = widens ? group : 1, lines = weight.depth * groupLines;
  bool isLong = lines > kMaxLines && weight.tail == 0 && weight.factor != Factor::i8_weights;
  // Longer rows of f32 would not stay in the second-level cache; those whose starts would share a set of the first level are padded anyway.
  copiesRows = widens || (takesInterleaved(isa, tileRows, weight.factor) && !isLong && weight.panels >= kInterleavedPanels);
  minBlocks = widens ? kWidenedBlocks : 2;
  minPanels = widens ? 0 : kInterleavedPanels;
  maxPartBytes = kMaxLines / groupLines * kLineBytes;
  parts = isLong ? llvm::divideCeil(lines, kMaxLines) : 1;

  partLines = llvm::divideCeil(std::max<int64_t>(weight.depth, 1), parts) * groupLines;
  blockPanels = panelsOf(isLong ? std::min(weight.depth, kMaxLines) : weight.depth), widenedPanels = panelsOf(partLines);
  sectionPanels = isLong && widens ? kWidenedPanels : blockPanels;
  sumsStride = sectionPanels * kLanes + (sectionPanels > kMaxBlockPanels ? kLanes : 0); // off powers of two, which would share cache sets
  sumsBytes = (parts > 1 ? kChunkRows : tileRows) * sumsStride * 4;
  rowsBytes = copiesRows ? InterleavedRows(partLines).bytes(llvm::divideCeil(kChunkRows, tileRows)) : 0;
  panelsBytes = widens ? widenedPanels * partLines * kLineBytes : 0;
}

} // namespace xf::cpu
