// What becomes of a product's sums: the op's region with its extra operands, and the result's places.
#ifndef XF_COMPILER_TARGET_GPU_CONTRACTEPILOGUE_H
#define XF_COMPILER_TARGET_GPU_CONTRACTEPILOGUE_H

#include "compiler/Target/CPU/RegionVectorizer.h"
#include "compiler/Target/GPU/KernelEmitters.h"

namespace xf::gpu {

class ContractEpilogue {
public:
  ContractEpilogue(GpuBuilder &b, mlir::xf::ContractOp op, const KernelRequest &request)
      : b(b), op(op), access(request.access), result(request.resultView()) {}

  /// Reads what the region needs for the element beside its sum. Apart from `store`, so that the reads of several
  /// elements can be under way at once; the element must exist.
  cpu::RegionVectorizer read(mlir::Value row, mlir::Value column);
  /// Applies the region to the sum and writes the element.
  void store(cpu::RegionVectorizer region, mlir::Value sum, mlir::Value row, mlir::Value column);
  /// Both.
  void storeElement(mlir::Value sum, mlir::Value row, mlir::Value column) { store(read(row, column), sum, row, column); }
  /// A column's elements from `firstRow` on, of which some rows may not exist.
  void storeColumn(llvm::ArrayRef<mlir::Value> sums, mlir::Value firstRow, mlir::Value column);

private:
  mlir::Value extra(unsigned i, mlir::Value row, mlir::Value column);

  GpuBuilder &b;
  mlir::xf::ContractOp op;
  const cpu::KernelAccess &access;
  unsigned result;
};

} // namespace xf::gpu

#endif // XF_COMPILER_TARGET_GPU_CONTRACTEPILOGUE_H
