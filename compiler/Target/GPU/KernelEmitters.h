// One function for each kind of kernel: adds its functions to the module and says how they are launched.
#ifndef XF_COMPILER_TARGET_GPU_KERNELEMITTERS_H
#define XF_COMPILER_TARGET_GPU_KERNELEMITTERS_H

#include "compiler/Target/GPU/GpuBuilder.h"
#include "compiler/Target/KernelOperands.h"

namespace xf::gpu {

/// What an emitter knows besides the op itself: what the CPU's know, and where the functions go.
struct KernelRequest : codegen::KernelRequest {
  mlir::gpu::GPUModuleOp module;
  llvm::StringRef name;

  unsigned views() const { return access.lastStride.size(); }
  GpuBuilder start(llvm::StringRef function, int64_t threads, mlir::Location location) const {
    return GpuBuilder(module, function, views(), threads, location);
  }
};

mlir::LogicalResult emitContract(mlir::xf::ContractOp op, const KernelRequest &request, Kernel &kernel);
/// The function for few rows that computes a row op, too (Prologue.h), if there can be one.
struct Prologue;
std::optional<Launch> emitContractWith(const Prologue &prologue, mlir::xf::ContractOp op, const KernelRequest &request);
std::optional<Launch> emitTensorContractWith(const Prologue &prologue, mlir::xf::ContractOp op, const KernelRequest &request);
mlir::LogicalResult emitChoose(mlir::xf::ChooseOp op, const KernelRequest &request, Kernel &kernel);
/// For factors of 16 bits, on tensor cores.
mlir::LogicalResult emitTensorContract(mlir::xf::ContractOp op, const KernelRequest &request, Kernel &kernel);
mlir::LogicalResult emitRow(mlir::xf::RowOp op, const KernelRequest &request, Kernel &kernel);
mlir::LogicalResult emitAttend(mlir::xf::AttendOp op, const KernelRequest &request, Kernel &kernel);
mlir::LogicalResult emitPack(mlir::xf::PackOp op, const KernelRequest &request, Kernel &kernel);
mlir::LogicalResult emitSpread(mlir::xf::SpreadOp op, const KernelRequest &request, Kernel &kernel);
mlir::LogicalResult emitAppend(mlir::xf::AppendOp op, const KernelRequest &request, Kernel &kernel);
mlir::LogicalResult emitStore(mlir::xf::StoreOp op, const KernelRequest &request, Kernel &kernel);
mlir::LogicalResult emitConcat(mlir::xf::ConcatOp op, const KernelRequest &request, Kernel &kernel);
mlir::LogicalResult emitPositions(mlir::xf::PositionsOp op, const KernelRequest &request, Kernel &kernel);
/// xf.scan and xf.scan_step.
mlir::LogicalResult emitScan(mlir::Operation *op, const KernelRequest &request, Kernel &kernel);

/// The index that row `row` of the rank-1 i32 view `view` holds, as i64.
mlir::Value loadIndex(GpuBuilder &b, unsigned view, mlir::Value row);
/// The first position and the length of sentence `sentence`, of the i32 view `view` [B, 2], as i64.
std::pair<mlir::Value, mlir::Value> loadSpan(GpuBuilder &b, unsigned view, mlir::Value sentence);

/// The address of an element of view `view`: with layout `plain` of any strided tensor, else of [B, H, T, width] as attention reads it.
mlir::Value addressIn(GpuBuilder &b, mlir::xf::Layout layout, unsigned view, llvm::ArrayRef<mlir::Value> indices, mlir::Type element, int64_t width);

} // namespace xf::gpu

#endif // XF_COMPILER_TARGET_GPU_KERNELEMITTERS_H
