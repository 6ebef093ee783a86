// What the two kernels of a product of 16-bit factors share.
#ifndef XF_COMPILER_TARGET_GPU_TENSORCONTRACT_H
#define XF_COMPILER_TARGET_GPU_TENSORCONTRACT_H

#include "compiler/Target/GPU/ContractEpilogue.h"
#include "compiler/Target/GPU/TensorCore.h"

namespace xf::gpu {

/// The k of one multiplication of tiles, the rows of x in it, and the columns of a panel: an A of its own.
inline constexpr int64_t kStepDepth = 16, kTileRows = 8, kPanelColumns = cpu::kLanes;
/// The k that are brought to shared memory together.
inline constexpr int64_t kPartDepth = 32;

class TensorContract {
public:
  TensorContract(GpuBuilder builder, mlir::xf::ContractOp op, const KernelRequest &request);

protected:
  using Value = mlir::Value;

  /// Whether all rows of x start at multiples of `bytes`. The same for all threads.
  Value rowsAligned(int64_t bytes);
  /// The address of row `row`; those behind the last one are the last one: what comes of them is not stored.
  Value xRow(Value row) { return b.at(b.data(0), b.mul(b.min(row, b.sub(rows, 1)), b.stride(0, 0)), factor); }
  /// The address of panel `panel`, of which the last one is the last.
  Value panelAt(Value panel) {
    return b.at(b.data(1), b.mul(b.min(panel, b.i64(panels - 1)), pairs * 2 * kPanelColumns), factor);
  }
  /// Two 16-bit elements as a word.
  Value joined(Value low, Value high);

  GpuBuilder b;
  ContractEpilogue epilogue;
  mlir::Type factor, word; // bf16 or f16; i32
  /// Of the weight; `pairs` are words along k, of which the last one may be half zero.
  int64_t columns, depth, panels, pairs;
  Value rows;
};

/// Adds function `name`, for few rows, and says how it is launched.
Launch emitFewRows(mlir::xf::ContractOp op, const KernelRequest &request, llvm::StringRef name);
/// The same for many rows.
Launch emitManyRows(mlir::xf::ContractOp op, const KernelRequest &request, llvm::StringRef name);

} // namespace xf::gpu

#endif // XF_COMPILER_TARGET_GPU_TENSORCONTRACT_H
