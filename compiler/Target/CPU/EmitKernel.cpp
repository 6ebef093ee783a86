#include "compiler/Target/CPU/KernelEmitters.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf::cpu {

/// The baseline has no instructions for f16: `op` is told so.
static LogicalResult checkTypes(Operation *op, ArrayRef<KernelOperand> operands) {
  SmallVector<Type> types(op->getResultTypes());
  for (const KernelOperand &operand : operands)
    types.push_back(operand.value.getType());
  for (Type type : types)
    if (getElementTypeOrSelf(type).isF16())
      return op->emitError("the CPU back end has no kernels for tensors of f16");
  return success();
}

LogicalResult emitKernel(ModuleOp module, StringRef name, Operation *op, const KernelAccess &access, Isa isa,
                         ModuleOp root) {
  SmallVector<KernelOperand> operands = kernelOperands(op);
  if (failed(checkTypes(op, operands)))
    return failure();
  KernelRequest request{access, operands, root};
  KernelBuilder b(module, name, isa, op->getLoc());
  LogicalResult emitted =
      llvm::TypeSwitch<Operation *, LogicalResult>(op)
          .Case([&](ContractOp op) { return emitContract(b, op, request); })
          .Case([&](ChooseOp op) { return emitChoose(b, op, request); })
          .Case([&](RowOp op) { return emitRow(b, op, request); })
          .Case([&](AttendOp op) { return emitAttend(b, op, request); })
          .Case([&](PackOp op) { return emitPack(b, op, request); })
          .Case([&](SpreadOp op) { return emitSpread(b, op, request); })
          .Case([&](AppendOp op) { return emitAppend(b, op, request); })
          .Case([&](StoreOp op) { return emitStore(b, op, request); })
          .Case([&](PositionsOp op) { return emitPositions(b, op, request); })
          .Case([&](ScanOp op) { return emitScan(b, op, request); })
          .Case([&](ScanStepOp op) { return emitScanStep(b, op, request); })
          .Case([&](ConcatOp op) { return emitConcat(b, op, request); })
          .Default([](Operation *op) { return op->emitError("is not a kernel of the CPU back end"); });
  b.finish();
  return emitted;
}

int64_t kernelScratchBytes(Operation *op, ModuleOp root) {
  return llvm::TypeSwitch<Operation *, int64_t>(op)
      .Case([&](ContractOp op) { return contractScratchBytes(op); })
      .Case([&](ChooseOp op) { return chooseScratchBytes(op); })
      .Case([&](RowOp op) { return rowScratchBytes(op, root); })
      .Case([&](AttendOp op) { return attendScratchBytes(op, root); })
      .Default(int64_t{0});
}

} // namespace xf::cpu
