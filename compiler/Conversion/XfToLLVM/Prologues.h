// Which products of an entry directly follow the row op that makes what they multiply: a GPU can compute both in one launch where rows are few.
#ifndef XF_COMPILER_CONVERSION_XFTOLLVM_PROLOGUES_H
#define XF_COMPILER_CONVERSION_XFTOLLVM_PROLOGUES_H

#include "dialect/IR/Xf.h"

namespace xf {

/// Whether a plan calls a kernel for `op`, which is no stack of layers; else it is strides, a pointer or an index.
bool hasKernel(mlir::Operation *op);

/// `product` multiplies result `result` of `row`, the kernel before it, which may be the previous layer's last where `product` is a layer's first.
/// It reads nothing else of `row`.
struct ProloguePair {
  mlir::xf::RowOp row;
  unsigned result;
  mlir::xf::ContractOp product;
};

/// In the order of the row ops.
llvm::SmallVector<ProloguePair> findPrologues(mlir::xf::EntryOp entry);

} // namespace xf

#endif // XF_COMPILER_CONVERSION_XFTOLLVM_PROLOGUES_H
