// A block's tile of a matrix product in f32, with the sums left in registers.
#ifndef XF_COMPILER_TARGET_GPU_TILEPRODUCT_H
#define XF_COMPILER_TARGET_GPU_TILEPRODUCT_H

#include "compiler/Target/GPU/GpuBuilder.h"

namespace xf::gpu {

/// A thread owns `ownRows` x `ownColumns` elements of a tile; operands come to shared memory in parts of `part` columns of k.
struct TileShape {
  int64_t rows, columns, ownRows, ownColumns, part;

  constexpr int64_t threads() const { return rows / ownRows * (columns / ownColumns); }
  /// The first row and column of the thread's elements, in the tile.
  mlir::Value ownRow(GpuBuilder &b) const { return b.mul(b.div(b.thread(), b.i64(columns / ownColumns)), ownRows); }
  mlir::Value ownColumn(GpuBuilder &b) const { return b.mul(b.rem(b.thread(), b.i64(columns / ownColumns)), ownColumns); }
};

/// Where a tile's operands lie. Rows and panels are counted from the tile's first.
struct TileOperands {
  int64_t depth;
  /// The address of x[row, k].
  llvm::function_ref<mlir::Value(mlir::Value row, mlir::Value k)> x;
  bool ofBytes; // the weights (ByteWeights.h)
  /// The address of a panel [depth][16], of bytes [depth / 4][16][4].
  llvm::function_ref<mlir::Value(mlir::Value panel)> weights;
  /// Whether anybody wants the panel's columns; those of others are neither read nor is it said what their sums are. Null: all are wanted.
  llvm::function_ref<mlir::Value(mlir::Value panel)> isNeeded = nullptr;
};

/// The thread's sums, row by row: chains of fused multiply-adds over ascending k from +0, as in xf.contract. All threads of the
/// block must take part.
llvm::SmallVector<mlir::Value> multiplyTile(GpuBuilder &b, const TileShape &shape, const TileOperands &operands);

} // namespace xf::gpu

#endif // XF_COMPILER_TARGET_GPU_TILEPRODUCT_H
