// Products of a few rows with any number of panels, a tile of them at a time.
#ifndef XF_COMPILER_TARGET_CPU_BLOCKPRODUCT_H
#define XF_COMPILER_TARGET_CPU_BLOCKPRODUCT_H

#include "compiler/Target/CPU/ProductOperands.h"
#include "compiler/Target/CPU/Tiles.h"

#include "mlir/IR/BuiltinTypes.h"

namespace xf::cpu {

/// The function that computes the product that its operands describe (ProductOperands.h), for 1 <= rows <= largestTile(isa, kind.factor).rows
/// and any number of panels. Defined in `module` on first use; kernels share it.
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

/// Panels that are needed next, to be prefetched meanwhile; they have as many lines as those that are multiplied.
struct PanelsAhead {
  mlir::Value start, panels, isNeeded;
  /// Whether they are parts of panels, `panelBytes` apart. Otherwise they lie behind each other.
  mlir::Value isStrided, panelBytes;
  /// Bytes of a panel to prefetch for each position of the current product.
  int64_t stepBytes = kLineBytes;
};
/// Makes block `turn` of `turns` blocks of rows prefetch its share of them.
void shareAhead(CodeBuilder &b, ProductOperands &operands, const PanelsAhead &next, mlir::Value turn, mlir::Value turns);
/// Calls the block product of `kind`.
void callBlockProduct(CodeBuilder &b, const ProductOperands &operands, const PanelKind &kind);
/// The same where, unless `isOnly`, other blocks of rows multiply these panels, too: those find them in a cache, wherever they come from.
void callBlockProduct(CodeBuilder &b, const ProductOperands &operands, const PanelKind &kind, mlir::Value isOnly);

} // namespace xf::cpu

#endif // XF_COMPILER_TARGET_CPU_BLOCKPRODUCT_H
