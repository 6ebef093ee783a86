// From a kernel op to its kernel: which emitter, for which instruction sets, with how much scratch.
#include "compiler/Target/CPU/AttendInt16.h"
#include "compiler/Target/CPU/KernelEmitters.h"
#include "compiler/Target/CPU/Tiles.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf::cpu {

/// Refuses tensors of f16: the baseline lacks the instructions for them.
static LogicalResult checkTypes(Operation *op, ArrayRef<KernelOperand> operands) {
  SmallVector<Type> types(op->getResultTypes());
  for (const KernelOperand &operand : operands)
    types.push_back(operand.value.getType());
  for (Type type : types)
    if (getElementTypeOrSelf(type).isF16())
      return op->emitError("the CPU back end has no kernels for tensors of f16");
  return success();
}

LogicalResult emitKernel(ModuleOp module, StringRef name, Operation *op, const KernelAccess &access, Isa isa, ModuleOp root) {
  SmallVector<KernelOperand> operands = kernelOperands(op);
  if (failed(checkTypes(op, operands)))
    return failure();
  KernelRequest request{access, operands, root};
  KernelBuilder b(module, name, isa, op->getLoc());
  LogicalResult emitted = llvm::TypeSwitch<Operation *, LogicalResult>(op)
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

/// The instruction sets that have kernels of their own for the factors that `op` multiplies.
static SmallVector<Isa> factorIsas(Operation *op) {
  SmallVector<Isa> isas{Isa::baseline, Isa::avx2, Isa::avx512};
  if (!isa<ContractOp, ChooseOp, AttendOp>(op))
    return isas;
  // Their first operands are the factors.
  auto elementOf = [&](unsigned i) { return typeOf(op->getOperand(i)).getElementType(); };
  Factor factor = factorOf(elementOf(0), elementOf(1));
  auto choose = dyn_cast<ChooseOp>(op);
  auto attend = dyn_cast<AttendOp>(op);
  if (factor == Factor::i8 || (choose && !(choose.getScreen().empty() && choose.getWords().empty())) || (attend && suitsInt16(attend)))
    isas = {Isa::baseline, Isa::avx2, Isa::avx2_vnni, Isa::avx512, Isa::avx512_vnni};
  if (factor == Factor::bf16)
    isas.push_back(Isa::avx512_bf16);
  return isas;
}

/// Whether a region rounds values to bf16.
static bool narrowsToBF16(Operation *op) {
  return op->walk([](arith::TruncFOp narrow) { return narrow.getType().isBF16() ? WalkResult::interrupt() : WalkResult::advance(); })
      .wasInterrupted();
}

SmallVector<Isa> kernelIsas(Operation *op) {
  SmallVector<Isa> isas = factorIsas(op);
  if (isas.back() != Isa::avx512_bf16 && narrowsToBF16(op))
    isas.push_back(Isa::avx512_bf16);
  return isas;
}

SmallVector<Isa> kernelIsas(Operation *op, ArrayRef<Isa> wanted) {
  SmallVector<Isa> isas = kernelIsas(op), used;
  for (Isa isa : wanted)
    if (Isa best = *std::prev(llvm::upper_bound(isas, isa)); used.empty() || used.back() != best)
      used.push_back(best);
  return used;
}

int64_t kernelScratchBytes(Operation *op, Isa isa, ModuleOp root) {
  return llvm::TypeSwitch<Operation *, int64_t>(op)
      .Case([&](ContractOp op) { return contractScratchBytes(op, isa); })
      .Case([&](ChooseOp op) { return chooseScratchBytes(op, isa); })
      .Case([&](RowOp op) { return rowScratchBytes(op, root); })
      .Case([&](AttendOp op) { return attendScratchBytes(op, isa, root); })
      .Default(int64_t{0});
}

} // namespace xf::cpu
