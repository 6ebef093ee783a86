// A block's tile of a matrix product in f32, up to its sums: callers decide what becomes of these.
#ifndef XF_COMPILER_TARGET_GPU_TILEPRODUCT_H
#define XF_COMPILER_TARGET_GPU_TILEPRODUCT_H

#include "compiler/Target/GPU/GpuBuilder.h"

namespace xf::gpu {

/// A thread owns `threadRows` x `threadColumns` elements of a tile. A warp is 4 rows of 8 threads, or one row of 32 if `threadColumns` is no multiple
/// of 4. Operands come to shared memory in parts of `part` k.
struct TileShape {
  int64_t rows, columns, threadRows, threadColumns, part;
  int64_t blocks; // of a multiprocessor, which share its registers

  constexpr int64_t threads() const { return rows / threadRows * (columns / threadColumns); }
  constexpr int64_t laneRows() const { return threadColumns % 4 ? 1 : 4; }
  constexpr int64_t laneColumns() const { return kWarp / laneRows(); }
  /// Columns of a thread that are neighbours, and how many such groups it has.
  constexpr int64_t together() const { return threadColumns % 4 ? 1 : 4; }
  constexpr int64_t groups() const { return threadColumns / together(); }
  constexpr int64_t warpRows() const { return laneRows() * threadRows; }
  constexpr int64_t warpColumns() const { return laneColumns() * threadColumns; }
  /// Of the sums in shared memory: two rows that 16 lanes each access share no bank.
  constexpr int64_t stride() const { return columns + codegen::kLanes; }

  // Of shared memory: the gap between rows of x keeps two of them from sharing a bank.
  constexpr int64_t strideOfX() const { return part + 4; }
  constexpr int64_t stageBytes() const { return 4 * (rows * strideOfX() + part * columns); }
  constexpr int64_t sumsBytes() const { return 4 * rows * stride(); }
  constexpr int64_t stages() const { return std::min<int64_t>(4, kSharedBytes / stageBytes()); }
  constexpr int64_t sharedBytes() const { return std::max(stages() * stageBytes(), sumsBytes()); }
  constexpr bool isPossible() const {
    return rows % warpRows() == 0 && columns % warpColumns() == 0 && columns % (2 * codegen::kLanes) == 0 && part % 4 == 0 && stages() >= 3 &&
           part * columns / 4 % threads() == 0 && (threads() / 8 % part == 0 || part % (threads() / 8) == 0) && sumsBytes() <= kSharedBytes;
  }
};

/// x [rows, depth] and the panels of a weight [columns, depth].
struct TileOperands {
  int64_t columns, depth;
  bool ofBytes; // the weights (ByteWeights.h)
  mlir::Value x, rowStride, rows; // where row 0 is, elements from row to row, and how many there are
  mlir::Value weights; // panels [depth][16], of bytes [depth / 4][16][4]
  /// Whether a panel, counted from the tile's first, is needed; others are not read, and their sums are undefined. Null: all are needed.
  llvm::function_ref<mlir::Value(mlir::Value panel)> isNeeded = nullptr;
  /// Called by all threads when the first weights are on their way, before x is read.
  llvm::function_ref<void()> beforeX = nullptr;
};

/// The tile's sums in shared memory, [rows][stride()], which the block's threads see after a barrier: chains of fused multiply-adds over ascending k
/// from +0, as in xf.contract. All threads of the block must take part. The last row and panel stand for those after them.
mlir::Value multiplyTile(GpuBuilder &b, const TileShape &shape, const TileOperands &operands, mlir::Value firstRow, mlir::Value firstPanel);

} // namespace xf::gpu

#endif // XF_COMPILER_TARGET_GPU_TILEPRODUCT_H
