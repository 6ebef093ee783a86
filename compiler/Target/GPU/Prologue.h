// A row op that the kernel of a product computes itself where rows are few: each block makes the rows that it multiplies while its weights are
// on their way. A launch for the row op alone would take as long as the product.
#ifndef XF_COMPILER_TARGET_GPU_PROLOGUE_H
#define XF_COMPILER_TARGET_GPU_PROLOGUE_H

#include "compiler/Target/GPU/KernelEmitters.h"

namespace xf::gpu {

/// The op's views follow those of the product, which multiplies result `result`.
struct Prologue {
  mlir::xf::RowOp row;
  const KernelRequest &request;
  unsigned firstView, result;

  /// Starts the function of both.
  GpuBuilder start(const KernelRequest &product, int64_t threads, mlir::Location location) const {
    return GpuBuilder(product.module, product.name, firstView + request.views(), threads, location);
  }
};

/// Rows in shared memory: `stride` elements apart.
struct SharedRows {
  mlir::Value start;
  int64_t rows, stride;
};

/// Computes the op's rows from `firstRow` on with all of a block's `threads`, and leaves those of the result in shared memory, visible after a
/// barrier; the last row stands for rows after it. Where `stores` holds, all results go to memory, too: one block for each row has to do that.
void emitPrologue(GpuBuilder &b, const Prologue &prologue, int64_t threads, mlir::Value firstRow, mlir::Value stores, const SharedRows &target);

/// Whether rows of this length can be made so: they are held in registers (RowEmitter::canBeUnrolled).
bool canBePrologue(mlir::xf::RowOp row, unsigned result);

} // namespace xf::gpu

#endif // XF_COMPILER_TARGET_GPU_PROLOGUE_H
