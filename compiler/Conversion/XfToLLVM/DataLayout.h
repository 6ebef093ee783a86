// Where weights and states lie: offsets that the plan's code, the packer and the image's tables agree on.
#ifndef XF_COMPILER_CONVERSION_XFTOLLVM_DATALAYOUT_H
#define XF_COMPILER_CONVERSION_XFTOLLVM_DATALAYOUT_H

#include "dialect/IR/Xf.h"

#include "runtime/abi/xf_abi.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace xf {

/// One tensor for each layer (or combination of indices), `stride` bytes apart.
struct Placement {
  int64_t offset = 0, stride = 0, layers = 1;
};

struct DataLayout {
  /// Weights, and parameters that kernels read as they are, in the order of the weights range.
  llvm::MapVector<mlir::Operation *, Placement> weights;
  int64_t weightBytes = 0;
  /// States, by index; and how many bytes they take at the dimensions' bounds.
  llvm::SetVector<mlir::Operation *> states;
  int64_t stateBytes = 0;
  /// Indices of the dimensions, in the order of `xf.bounds`.
  llvm::StringMap<unsigned> dims;
};

/// Lays out the data of a module of kernel IR.
DataLayout layOutData(mlir::ModuleOp module);

/// The `xf_abi_dtype` of elements that a compiled file stores.
uint32_t dtypeOf(mlir::Type element);

/// A state as the runtime knows it, without its name.
xf_abi_state describeState(mlir::xf::StateOp state, const DataLayout &layout);

} // namespace xf

#endif // XF_COMPILER_CONVERSION_XFTOLLVM_DATALAYOUT_H
