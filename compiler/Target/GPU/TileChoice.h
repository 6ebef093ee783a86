// Which tiles a product in f32 has for how many rows.
#ifndef XF_COMPILER_TARGET_GPU_TILECHOICE_H
#define XF_COMPILER_TARGET_GPU_TILECHOICE_H

#include "compiler/Target/GPU/TileProduct.h"

#include <optional>

namespace xf::gpu {

struct TileRange {
  TileShape shape;
  std::optional<int64_t> maxRows; // rows; none: however many there are
};

/// The tiles of a product with so many columns, for ascending ranges of rows above `fewest`; the last range has no end.
llvm::SmallVector<TileRange> tilesFor(int64_t columns, int64_t fewest);

} // namespace xf::gpu

#endif // XF_COMPILER_TARGET_GPU_TILECHOICE_H
