// Weights, computed from the checkpoint and written in their packed order.
#ifndef XF_COMPILER_TARGET_LINK_PACKING_H
#define XF_COMPILER_TARGET_LINK_PACKING_H

#include "compiler/Import/ParameterSource.h"
#include "compiler/Target/Link/ParameterMap.h"

#include "llvm/Support/raw_ostream.h"

namespace xf {

/// Writes the weights range: what `layout` lists, then what `stored` keeps beside, `bytes` in all. All cores compute, and each has some rows in
/// memory; a weight that does not consist of rows of parameters (see findRows) takes a few copies of the whole. Writing ends where
/// `outError` tells of an error of `out`.
llvm::Error writeWeights(mlir::ModuleOp module, const DataLayout &layout, llvm::ArrayRef<StoredParameter> stored, int64_t bytes,
                         ParameterSource &source, llvm::raw_ostream &out, llvm::function_ref<std::error_code()> outError = {});

} // namespace xf

#endif // XF_COMPILER_TARGET_LINK_PACKING_H
