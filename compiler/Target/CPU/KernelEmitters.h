// One function for each kind of kernel: writes the kernel's body, between the function's start and its return.
#ifndef XF_COMPILER_TARGET_CPU_KERNELEMITTERS_H
#define XF_COMPILER_TARGET_CPU_KERNELEMITTERS_H

#include "compiler/Target/CPU/KernelBuilder.h"
#include "compiler/Target/CPU/Kernels.h"

namespace xf::cpu {

mlir::LogicalResult emitContract(KernelBuilder &b, mlir::xf::ContractOp op, const KernelRequest &request);
mlir::LogicalResult emitChoose(KernelBuilder &b, mlir::xf::ChooseOp op, const KernelRequest &request);
mlir::LogicalResult emitRow(KernelBuilder &b, mlir::xf::RowOp op, const KernelRequest &request);
mlir::LogicalResult emitAttend(KernelBuilder &b, mlir::xf::AttendOp op, const KernelRequest &request);
mlir::LogicalResult emitPack(KernelBuilder &b, mlir::xf::PackOp op, const KernelRequest &request);
mlir::LogicalResult emitSpread(KernelBuilder &b, mlir::xf::SpreadOp op, const KernelRequest &request);
mlir::LogicalResult emitAppend(KernelBuilder &b, mlir::xf::AppendOp op, const KernelRequest &request);
mlir::LogicalResult emitStore(KernelBuilder &b, mlir::xf::StoreOp op, const KernelRequest &request);
mlir::LogicalResult emitPositions(KernelBuilder &b, mlir::xf::PositionsOp op, const KernelRequest &request);
mlir::LogicalResult emitScan(KernelBuilder &b, mlir::xf::ScanOp op, const KernelRequest &request);
mlir::LogicalResult emitScanStep(KernelBuilder &b, mlir::xf::ScanStepOp op, const KernelRequest &request);
mlir::LogicalResult emitConcat(KernelBuilder &b, mlir::xf::ConcatOp op, const KernelRequest &request);

/// Bytes of scratch that one thread needs; 0 for the kinds without.
int64_t contractScratchBytes(mlir::xf::ContractOp op, Isa isa);
int64_t chooseScratchBytes(mlir::xf::ChooseOp op, Isa isa);
int64_t rowScratchBytes(mlir::xf::RowOp op, mlir::ModuleOp root);
int64_t attendScratchBytes(mlir::xf::AttendOp op, Isa isa, mlir::ModuleOp root);

} // namespace xf::cpu

#endif // XF_COMPILER_TARGET_CPU_KERNELEMITTERS_H
