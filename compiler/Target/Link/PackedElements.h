// Elements of weights as they stand in the file.
#ifndef XF_COMPILER_TARGET_LINK_PACKEDELEMENTS_H
#define XF_COMPILER_TARGET_LINK_PACKEDELEMENTS_H

#include "mlir/IR/Types.h"
#include "llvm/ADT/ArrayRef.h"

#include <vector>

namespace xf {

/// [N, K] row-major to [ceil(N/16)][ceil(K/group)][16][group], the last panel and the last group filled up with zeros.
void packPanels(llvm::ArrayRef<float> matrix, int64_t columns, int64_t group, std::vector<float> &panels);

/// The bytes of `values` as elements of type `element`, which they are exactly; of i32 they are the bits. They are in `values`, or in `buffer`.
llvm::ArrayRef<char> bytesOf(llvm::ArrayRef<float> values, mlir::Type element, std::vector<char> &buffer);

} // namespace xf

#endif // XF_COMPILER_TARGET_LINK_PACKEDELEMENTS_H
