// Where weights and states lie: offsets that the plan's code, the packer and the image's tables agree on.
#ifndef XF_COMPILER_CONVERSION_XFTOLLVM_DATALAYOUT_H
#define XF_COMPILER_CONVERSION_XFTOLLVM_DATALAYOUT_H

#include "dialect/IR/Xf.h"

#include "llvm/ADT/MapVector.h"

namespace xf {

/// One tensor for each layer (or combination of indices), `stride` bytes apart.
struct Placement {
  int64_t offset = 0, stride = 0, layers = 1;
};

struct DataLayout {
  /// Weights, and parameters that kernels read as they are, in the order of the weights range.
  llvm::MapVector<mlir::Operation *, Placement> weights;
  int64_t weightBytes = 0;
  llvm::MapVector<mlir::Operation *, Placement> states;
  int64_t stateBytes = 0;
  /// Numbers of the dimensions, as `xf.bounds` lists them.
  llvm::StringMap<unsigned> dims;
};

/// Lays out the data of a module of kernel IR.
DataLayout layOutData(mlir::ModuleOp module);

/// Rows of a state's first dimension, and bytes of one of them.
int64_t stateRows(mlir::xf::StateOp state, mlir::ModuleOp module);
int64_t stateRowBytes(mlir::xf::StateOp state, mlir::ModuleOp module);

} // namespace xf

#endif // XF_COMPILER_CONVERSION_XFTOLLVM_DATALAYOUT_H
