// The epilogue of a product: applies the op's region, with its extra operands, to the sums and stores the results.
#ifndef XF_COMPILER_TARGET_GPU_CONTRACTEPILOGUE_H
#define XF_COMPILER_TARGET_GPU_CONTRACTEPILOGUE_H

#include "compiler/Target/GPU/KernelEmitters.h"
#include "compiler/Target/RegionVectorizer.h"

namespace xf::gpu {

class ContractEpilogue {
public:
  ContractEpilogue(GpuBuilder &b, mlir::xf::ContractOp op, const KernelRequest &request)
      : b(b), op(op), access(request.access), result(request.resultView()) {}

  mlir::Value exists(mlir::Value row, mlir::Value column);
  /// Reads what the region needs for the element besides its sum; if there is no such element, for another one. Separate from `store`, so
  /// that these reads can be under way with others.
  codegen::RegionVectorizer read(mlir::Value row, mlir::Value column);
  /// Applies the region to the sum and writes the element, which must exist.
  void store(codegen::RegionVectorizer region, mlir::Value sum, mlir::Value row, mlir::Value column);

  /// Sums in shared memory, [rows][stride], of which neighbouring threads take neighbouring columns: their global reads and writes coalesce.
  struct Tile {
    mlir::Value sums;
    int64_t rows, columns, stride;
    mlir::Value firstRow, firstColumn;
    int64_t together = 8; // rows of a thread whose reads are under way
  };
  /// Stores what there is of a tile, with all of the block's `threads`.
  void storeTile(const Tile &tile, int64_t threads);

private:
  mlir::Value extra(unsigned i, mlir::Value row, mlir::Value column);
  mlir::Value rows() { return b.size(result, 0); }
  mlir::Value columns() { return b.i64(llvm::cast<mlir::RankedTensorType>(op.getWeight().getType()).getDimSize(0)); }

  GpuBuilder &b;
  mlir::xf::ContractOp op;
  const codegen::KernelAccess &access;
  unsigned result;
};

} // namespace xf::gpu

#endif // XF_COMPILER_TARGET_GPU_CONTRACTEPILOGUE_H
