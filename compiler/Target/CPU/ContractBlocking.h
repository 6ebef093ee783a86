// Which of its rows and weights a product keeps in the caches at a time.
#ifndef XF_COMPILER_TARGET_CPU_CONTRACTBLOCKING_H
#define XF_COMPILER_TARGET_CPU_CONTRACTBLOCKING_H

#include "compiler/Target/CPU/BlockProduct.h"

namespace xf::cpu {

/// A thread's rows are taken in chunks, which stay in the second-level cache. A chunk's blocks of rows (at most a tile's, which the first level has
/// room for) are multiplied by the same block of panels one after the other, then by the next. Where rows are long, so is a part of k at a time.
struct ContractBlocking {
  ContractBlocking(Isa isa, const WeightPanels &weight);

  /// Rows of a chunk at most.
  static constexpr int64_t kChunkRows = 128;

  int64_t tileRows;
  /// Whether the rows of chunks of enough blocks are interleaved (InterleavedRows.h) before they are multiplied.
  bool copiesRows;
  /// Whether these chunks are multiplied as f32: each block of panels is widened for them, too (WidenedPanels.h).
  bool widens;
  /// The parts of k in which chunks of several blocks are multiplied.
  int64_t parts;
  /// Panels of a block, as they are or widened.
  int64_t blockPanels, widenedPanels;
  /// Panels whose sums wait for the next part, where there are several.
  int64_t sectionPanels;
  /// The fewest blocks of rows in a chunk, and panels of a thread, for which chunks are copied.
  int64_t minBlocks, minPanels;

  /// Lines of a panel in a part, as they are multiplied: copied rows have as many elements.
  int64_t partLines;
  /// The most bytes of a panel, as it is stored, in a part.
  int64_t maxPartBytes;
  /// Elements from one row's sums to the next one's.
  int64_t sumsStride;
  /// Scratch: sums, then copies of rows, then f32 panels.
  int64_t sumsBytes, rowsBytes, panelsBytes;
  int64_t scratchBytes() const { return sumsBytes + rowsBytes + panelsBytes; }
};

} // namespace xf::cpu

#endif // XF_COMPILER_TARGET_CPU_CONTRACTBLOCKING_H
