// Weights by rows: a matrix that is packed need not be in memory as a whole.
#ifndef XF_COMPILER_REFERENCE_WEIGHTROWS_H
#define XF_COMPILER_REFERENCE_WEIGHTROWS_H

#include "compiler/Import/ParameterSource.h"

namespace xf {

/// Whether what `weight` holds along its first dimension are rows of parameters, as they are or in fewer bits.
bool hasRows(mlir::xf::WeightOp weight);

/// Some of these, from `first` on, as evaluateWeight gives all: as many as fill `out`. They are best asked for one behind the other.
llvm::Error evaluateRows(mlir::xf::WeightOp weight, int64_t layer, ParameterSource &source, int64_t first, llvm::MutableArrayRef<float> out);

/// The value of an index in a weight's region for that number of a layer, which nested stacks divide into theirs.
int64_t indexAt(mlir::Value index, int64_t layer);

} // namespace xf

#endif // XF_COMPILER_REFERENCE_WEIGHTROWS_H
