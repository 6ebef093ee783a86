// In a plan: which layer of a stack is at work, where its weights are, and which are multiplied next.
#ifndef XF_COMPILER_CONVERSION_XFTOLLVM_WEIGHTPOINTERS_H
#define XF_COMPILER_CONVERSION_XFTOLLVM_WEIGHTPOINTERS_H

#include "compiler/Conversion/XfToLLVM/PlanBuilder.h"

namespace xf {

/// Whether a call's products read more weights than a last-level cache holds: it holds none of them any more when the next call needs them.
bool weightsStream(mlir::xf::EntryOp entry);

class WeightPointers {
public:
  WeightPointers(PlanBuilder &plan, mlir::ModuleOp root) : plan(plan), root(root) {}

  /// Loads where the weights begin, at a point that must dominate the code that uses them.
  void loadBase();
  /// From here on `layer` is the index of the stack's layer.
  void setLayer(mlir::xf::RepeatOp stack, mlir::Value layer) { layers[stack.getLayer()] = layer; }

  mlir::Value indexValue(mlir::Value index);
  mlir::Value pointer(mlir::xf::ParamOp param);

  /// Panels of a product's weights: where the first one is, how many there are, and the bytes of one.
  struct Panels {
    mlir::Value first, count, bytes;
  };
  /// The panels of the next product after `op`, in the order in which its kernel reads them; after a layer's last product, that of the next layer.
  std::optional<Panels> nextPanels(mlir::Operation *op);

private:
  std::optional<Panels> firstPanels(llvm::iterator_range<mlir::Block::iterator> ops);
  std::optional<Panels> firstPanels(mlir::xf::RepeatOp stack, mlir::Value layer);
  std::optional<Panels> panelsOf(mlir::Type rowType, mlir::Value weight);

  PlanBuilder &plan;
  mlir::ModuleOp root;
  mlir::Value base;
  llvm::DenseMap<mlir::Value, mlir::Value> layers; // indices of stacks' layers
};

} // namespace xf

#endif // XF_COMPILER_CONVERSION_XFTOLLVM_WEIGHTPOINTERS_H
