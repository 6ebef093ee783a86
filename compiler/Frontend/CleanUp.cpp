#include "compiler/Frontend/CleanUp.h"

#include "dialect/IR/Xf.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace {

bool eraseUnused(mlir::ModuleOp module) {
  bool changed = false;
  module->walk([&](mlir::Operation *op) {
    if (op->getParentOp() != module && mlir::isOpTriviallyDead(op)) {
      op->erase();
      changed = true;
    }
  });
  return changed;
}

/// Drops unread results, except those that are carried from layer to layer.
bool dropUnreadResults(mlir::xf::RepeatOp op) {
  unsigned numCarried = op.getInits().size();
  llvm::SmallVector<unsigned> used;
  for (unsigned i = 0; i < op.getNumResults(); ++i)
    if (i < numCarried || !op.getResult(i).use_empty())
      used.push_back(i);
  if (used.size() == op.getNumResults())
    return false;
  mlir::Operation *yield = op.getBody().front().getTerminator();
  llvm::SmallVector<mlir::Value> values;
  for (unsigned i : used)
    values.push_back(yield->getOperand(i));
  yield->setOperands(values);
  mlir::OpBuilder builder(op);
  mlir::OperationState state(op.getLoc(), mlir::xf::RepeatOp::getOperationName());
  mlir::xf::RepeatOp::build(builder, state, mlir::ValueRange(values).getTypes(), op.getCount(), op.getInits());
  state.regions[0]->takeBody(op.getBody());
  mlir::Operation *replacement = builder.create(state);
  for (auto [i, old] : llvm::enumerate(used))
    op.getResult(old).replaceAllUsesWith(replacement->getResult(i));
  op.erase();
  return true;
}

} // namespace

void xf::frontend::cleanUp(mlir::ModuleOp module) {
  for (bool changed = true; changed;) {
    changed = eraseUnused(module);
    llvm::SmallVector<mlir::xf::RepeatOp> repeats;
    module->walk([&](mlir::xf::RepeatOp op) { repeats.push_back(op); });
    for (mlir::xf::RepeatOp op : repeats)
      changed |= dropUnreadResults(op);
  }
}
