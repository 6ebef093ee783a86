// Regions of attentions and scans hold scalar code only: operations that make tensors are moved before them.
#ifndef XF_COMPILER_FRONTEND_HOIST_H
#define XF_COMPILER_FRONTEND_HOIST_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace xf::frontend {

/// Moves the operations of `body` that make tensors, and the constants that they take, to the builder's insertion point. They
/// cannot depend on the body's scalars: no operation makes a tensor from those.
inline void hoistTensors(mlir::Block &body, mlir::OpBuilder &builder) {
  auto move = [&](mlir::Operation *op) { op->moveBefore(builder.getInsertionBlock(), builder.getInsertionPoint()); };
  for (mlir::Operation &op : llvm::make_early_inc_range(body)) {
    if (op.getNumResults() == 0 || !llvm::all_of(op.getResultTypes(), llvm::IsaPred<mlir::RankedTensorType>))
      continue;
    for (mlir::Value operand : op.getOperands())
      if (mlir::Operation *source = operand.getDefiningOp(); source && source->getBlock() == &body)
        move(source);
    move(&op);
  }
}

} // namespace xf::frontend

#endif // XF_COMPILER_FRONTEND_HOIST_H
