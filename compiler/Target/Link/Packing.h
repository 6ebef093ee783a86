// Weights, computed from the checkpoint and written in their packed order.
#ifndef XF_COMPILER_TARGET_LINK_PACKING_H
#define XF_COMPILER_TARGET_LINK_PACKING_H

#include "compiler/Import/ParameterSource.h"
#include "compiler/Target/Link/ParameterMap.h"

#include "llvm/Support/raw_ostream.h"

namespace xf {

/// [N, K] row-major to [ceil(N/16)][ceil(K/group)][16][group], the last panel and the last group filled up with zeros.
void packPanels(llvm::ArrayRef<float> matrix, int64_t rows, int64_t columns, int64_t group, std::vector<float> &panels);

/// Writes the weights range: what `layout` lists, then what `stored` keeps beside, `bytes` in all. Memory in use is that of
/// some rows, and for a weight whose rows are not those of parameters (see hasRows) of a few copies of the whole.
llvm::Error writeWeights(mlir::ModuleOp module, const DataLayout &layout, llvm::ArrayRef<StoredParameter> stored, int64_t bytes,
                         ParameterSource &source, llvm::raw_ostream &out);

} // namespace xf

#endif // XF_COMPILER_TARGET_LINK_PACKING_H
