#include "compiler/Target/KernelOperands.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace xf::codegen {

SmallVector<KernelOperand> kernelOperands(Operation *op) {
  SmallVector<KernelOperand> operands;
  auto append = [&](Value value) {
    operands.push_back({value});
    if (auto load = value.getDefiningOp<mlir::xf::LoadOp>())
      operands.push_back({load.getSlots(), /*isCompanion=*/true});
    if (auto appended = appendedBy(op, value))
      for (Value companion : {appended.getX(), appended.getPast()})
        operands.push_back({companion, /*isCompanion=*/true});
  };
  for (Value value : op->getOperands())
    if (isa<RankedTensorType>(value.getType()))
      append(value);
  llvm::SetVector<Value> captured;
  op->walk([&](Operation *inner) {
    if (inner == op)
      return;
    for (Value value : inner->getOperands())
      if (isa<RankedTensorType>(value.getType()) && !op->isAncestor(value.getParentRegion()->getParentOp()))
        captured.insert(value);
  });
  for (Value value : captured)
    append(value);
  return operands;
}

unsigned KernelRequest::viewOf(Value value) const {
  for (auto [i, operand] : llvm::enumerate(operands))
    if (!operand.isCompanion && operand.value == value)
      return i;
  llvm_unreachable("a tensor that the kernel does not read");
}

mlir::xf::AppendOp appendedBy(Operation *op, Value value) {
  auto append = value.getDefiningOp<mlir::xf::AppendOp>();
  return append && append.getByReader() && isa<mlir::xf::AttendOp>(op) ? append : mlir::xf::AppendOp();
}

std::optional<unsigned> KernelRequest::slotsOf(Value value) const {
  if (!value.getDefiningOp<mlir::xf::LoadOp>())
    return std::nullopt;
  return viewOf(value) + 1;
}

} // namespace xf::codegen
