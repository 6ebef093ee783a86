// Products of a few rows with any number of weight panels.
#ifndef XF_COMPILER_TARGET_CPU_BLOCKPRODUCT_H
#define XF_COMPILER_TARGET_CPU_BLOCKPRODUCT_H

#include "compiler/Target/CPU/CodeBuilder.h"

namespace xf::cpu {

/// `void(i64 rows, ptr a, i64 lda, ptr b, i64 panelStride, ptr c, i64 ldc, i64 k, i64 panels, ptr ahead, i64 aheadPanel, i64 aheadStep,
/// i1 goesOn)`: as getMicroKernel, for 1 <= rows <= largestTile(isa, kind.factor).rows and any number of panels.
/// Defined in `module` on first use; kernels share it.
mlir::LLVM::LLVMFuncOp getBlockProduct(mlir::ModuleOp module, Isa isa, const PanelKind &kind);

/// A weight [N, K] as its product with x reads it: panels of 16 columns, along K in groups of four bytes.
struct WeightPanels {
  WeightPanels(mlir::Type rowType, mlir::RankedTensorType weight);
  WeightPanels(mlir::Value x, mlir::Value weight);

  mlir::Type type, rowType; // of the weight's elements and of x's
  Factor factor;
  int64_t columns, panels;
  /// Groups that are whole, elements of the last one if it is not, and groups in all.
  int64_t wholeGroups, tail, depth;
  int64_t panelElements;

  PanelKind kind(bool streams) const { return {.factor = factor, .tail = tail, .streams = streams}; }
};

/// Rows of the largest tile of `factor` that any kernel of `op` uses.
int64_t largestTileRows(mlir::Operation *op, Factor factor);

/// A block product's arguments: c [rows, panels * XF_ABI_PANEL] = a [rows, depth] times `panels` panels of weights. `lda`, `ldc` and
/// `panelStride` are in elements, `aheadPanel` and `aheadStep` in bytes. At `ahead` lies what is needed next, of which the product asks for lines
/// (getMicroKernel); null: nothing.
struct BlockOperands {
  mlir::Value rows, a, lda, b, panelStride, c, ldc, depth, panels;
  mlir::Value ahead = {}, aheadPanel = {}, aheadStep = {};
  mlir::Value goesOn = {}; // whether c's sums are added to (getMicroKernel); null: no
};
/// Panels that are needed next, as deep as those that are multiplied meanwhile.
struct PanelsAhead {
  mlir::Value start;
  int64_t panels;
  mlir::Value isNeeded;
  /// Whether they are parts of panels, `panelBytes` apart. Otherwise they lie behind each other.
  mlir::Value isApart;
  int64_t panelBytes = 0;
};
/// Makes block `turn` of `turns` blocks of rows ask for its share of them.
void shareAhead(CodeBuilder &b, BlockOperands &operands, const PanelsAhead &next, mlir::Value turn, mlir::Value turns);
/// Calls the block product of `kind`.
void callBlockProduct(CodeBuilder &b, const BlockOperands &operands, const PanelKind &kind);
/// The same where other blocks of rows may take the panels, too, but for if `isOnly`: those find them in a cache, wherever they come from.
void callBlockProduct(CodeBuilder &b, const BlockOperands &operands, const PanelKind &kind, mlir::Value isOnly);

} // namespace xf::cpu

#endif // XF_COMPILER_TARGET_CPU_BLOCKPRODUCT_H
