#include "compiler/Target/GPU/KernelEmitters.h"
#include "compiler/Target/GPU/Prologue.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf::gpu {

Value loadIndex(GpuBuilder &b, unsigned view, Value row) {
  Type i32 = b.getI32Type();
  return b.toI64(b.load(i32, b.at(b.data(view), b.mul(row, b.stride(view, 0)), i32)));
}

std::pair<Value, Value> loadSpan(GpuBuilder &b, unsigned view, Value sentence) {
  Type i32 = b.getI32Type();
  Value start = b.mul(sentence, b.stride(view, 0));
  auto member = [&](Value offset) { return b.inHalf(b.load(i32, b.at(b.data(view), offset, i32))); };
  return {member(start), member(b.add(start, b.stride(view, 1)))};
}

xf_abi_gpu_launch toAbi(const Launch &launch) {
  xf_abi_gpu_launch out{};
  out.threads = launch.threads;
  out.factors = launch.factors.size();
  out.divisor = launch.divisor;
  out.constant = launch.constant;
  out.limit = -1;
  out.stage = launch.stage;
  out.max_blocks = static_cast<uint32_t>(launch.maxBlocks);
  if (launch.limit)
    out.limit_view = launch.limit->view, out.limit_dim = launch.limit->dim, out.limit = launch.limit->max;
  for (auto [i, factor] : llvm::enumerate(launch.factors))
    out.factor[i] = {factor.view, factor.dim, static_cast<uint32_t>(factor.divisor), 0};
  return out;
}

/// Refuses types and operands that kernels have no code for yet, with an error at `op`.
static LogicalResult checkOperands(Operation *op, ArrayRef<codegen::KernelOperand> operands) {
  auto check = [&](Type type) -> LogicalResult {
    Type element = cast<RankedTensorType>(type).getElementType();
    if (element.isF32() || element.isBF16() || element.isF16() || element.isInteger(32) || element.isInteger(8) || element.isInteger(1))
      return success();
    return op->emitError("the GPU back end has no kernels for tensors of ") << element;
  };
  if (auto attend = dyn_cast<AttendOp>(op)) {
    auto queries = cast<RankedTensorType>(attend.getQ().getType());
    if (!queries.getElementType().isF32() && queries.getDimSize(3) % 2 != 0)
      return op->emitError("attention to factors of 16 bits needs heads of an even width, not ") << queries.getDimSize(3);
  }
  auto choose = dyn_cast<ChooseOp>(op); // its words are for CPUs
  for (const codegen::KernelOperand &operand : operands)
    if (!(choose && llvm::is_contained(choose.getWords(), operand.value)) && failed(check(operand.value.getType())))
      return failure();
  for (Type type : op->getResultTypes())
    if (failed(check(type)))
      return failure();
  return success();
}

FailureOr<Kernel> emitKernel(mlir::gpu::GPUModuleOp module, StringRef name, Operation *op, const codegen::KernelAccess &access, ModuleOp root) {
  SmallVector<codegen::KernelOperand> operands = codegen::kernelOperands(op);
  if (failed(checkOperands(op, operands)))
    return failure();
  KernelRequest request{{access, operands, root}, module, name};
  if (request.views() > XF_ABI_MAX_GPU_VIEWS)
    return op->emitError("the GPU back end has no kernels of more than ") << XF_ABI_MAX_GPU_VIEWS << " tensors; this one has " << request.views();
  Kernel kernel{request.views(), {}};
  LogicalResult emitted = llvm::TypeSwitch<Operation *, LogicalResult>(op)
                              .Case([&](ContractOp op) { return emitContract(op, request, kernel); })
                              .Case([&](ChooseOp op) { return emitChoose(op, request, kernel); })
                              .Case([&](RowOp op) { return emitRow(op, request, kernel); })
                              .Case([&](AttendOp op) { return emitAttend(op, request, kernel); })
                              .Case([&](PackOp op) { return emitPack(op, request, kernel); })
                              .Case([&](SpreadOp op) { return emitSpread(op, request, kernel); })
                              .Case([&](AppendOp op) { return emitAppend(op, request, kernel); })
                              .Case([&](StoreOp op) { return emitStore(op, request, kernel); })
                              .Case([&](ConcatOp op) { return emitConcat(op, request, kernel); })
                              .Case([&](PositionsOp op) { return emitPositions(op, request, kernel); })
                              .Case<ScanOp, ScanStepOp>([&](auto op) { return emitScan(op, request, kernel); })
                              .Default([](Operation *op) { return op->emitError("is not a kernel of the GPU back end"); });
  if (failed(emitted))
    return failure();
  return kernel;
}

std::optional<Launch> emitWithPrologue(mlir::gpu::GPUModuleOp module, StringRef name, ContractOp product, const codegen::KernelAccess &access,
                                       RowOp row, const codegen::KernelAccess &rowAccess, unsigned result, ModuleOp root) {
  SmallVector<codegen::KernelOperand> operands = codegen::kernelOperands(product), rowOperands = codegen::kernelOperands(row);
  KernelRequest request{{access, operands, root}, module, name}, rowRequest{{rowAccess, rowOperands, root}, module, name};
  if (!canBePrologue(row, result) || request.views() + rowRequest.views() > XF_ABI_MAX_GPU_VIEWS)
    return std::nullopt;
  return emitContractWith({row, rowRequest, request.views(), result}, product, request);
}

} // namespace xf::gpu
