// What an entry's inputs must be, so that its code reads nothing outside of tensors: their tokens, and their sizes.
#ifndef XF_COMPILER_TARGET_LINK_TOKENBOUNDS_H
#define XF_COMPILER_TARGET_LINK_TOKENBOUNDS_H

#include "dialect/IR/Xf.h"

#include "llvm/ADT/StringMap.h"

namespace xf {

/// The smallest number of rows of any table that argument `argIndex` of `entry` indexes; 0 if it indexes none.
int64_t tokenBound(mlir::xf::EntryOp entry, unsigned argIndex);

/// The smallest size of each named dimension of which `entry` reads positions of its own choice.
llvm::StringMap<int64_t> minSizes(mlir::xf::EntryOp entry);

} // namespace xf

#endif // XF_COMPILER_TARGET_LINK_TOKENBOUNDS_H
