// What the functions of products take: the block product (BlockProduct.h) and the micro-kernels that it consists of (MicroKernel.h).
#ifndef XF_COMPILER_TARGET_CPU_PRODUCTOPERANDS_H
#define XF_COMPILER_TARGET_CPU_PRODUCTOPERANDS_H

#include "compiler/Target/CodeBuilder.h"

namespace xf::cpu {

/// C[m, n] = Σ_k A[m, k] * B[k, n] for m < rows, n < 16 * panels, k ascending from 0. Strides are in elements; C's last one is 1, and
/// A's where its rows are not interleaved.
struct ProductOperands {
  mlir::Value rows;           // not taken by a micro-kernel, which is made for a fixed number
  mlir::Value a, lda;         // row 0, and from one row to the next
  mlir::Value step = {};      // of A, from one k to the next, where rows may be interleaved (Tiles.h); null: 1
  mlir::Value b, panelStride; // panel 0, and from one panel to the next
  mlir::Value c, ldc;         // row 0, and from one row to the next
  mlir::Value depth;          // whole groups of k; PanelKind has the tail behind them
  mlir::Value panels;         // as `rows`
  /// What is needed next: for each panel and each group k the line ahead + panel * aheadPanel + k * aheadStep (bytes) is prefetched into the
  /// second-level cache (the first, where prefetchesRarely). Panels that stream prefetch their own next lines instead. Null: nothing is.
  mlir::Value ahead = {}, aheadPanel = {}, aheadStep = {};
  mlir::Value accumulates = {}; // i1: whether C's sums are added to (not with i8_weights); null: no
};

enum class ProductFunction { block, microKernel };

/// The types of what such a function takes, in its order.
llvm::SmallVector<mlir::Type> productTypes(mlir::MLIRContext *context, ProductFunction function);
/// The arguments of the function that `b` writes.
ProductOperands productArguments(CodeBuilder &b, ProductFunction function);
/// `operands` in the order of the function's arguments.
llvm::SmallVector<mlir::Value> inOrder(const ProductOperands &operands, ProductFunction function);

} // namespace xf::cpu

#endif // XF_COMPILER_TARGET_CPU_PRODUCTOPERANDS_H
