// Which tiles a product of 16-bit factors has for how many rows.
#ifndef XF_COMPILER_TARGET_GPU_TENSORTILECHOICE_H
#define XF_COMPILER_TARGET_GPU_TENSORTILECHOICE_H

#include "compiler/Target/GPU/TensorTiles.h"

#include <optional>

namespace xf::gpu {

struct TensorTileRange {
  std::optional<ManyRowsProduct::Shape> shape; // none: SomeRowsProduct's
  std::optional<int64_t> maxRows;              // rows; none: however many there are
};

/// The tiles of a product with so many columns, for ascending ranges of rows above `fewest`; the last range has no end.
llvm::SmallVector<TensorTileRange> tensorTilesFor(int64_t columns, int64_t fewest);

} // namespace xf::gpu

#endif // XF_COMPILER_TARGET_GPU_TENSORTILECHOICE_H
