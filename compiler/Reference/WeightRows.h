// Weights by rows: a matrix that is packed need not be in memory as a whole.
#ifndef XF_COMPILER_REFERENCE_WEIGHTROWS_H
#define XF_COMPILER_REFERENCE_WEIGHTROWS_H

#include "compiler/Import/ParameterSource.h"

namespace xf {

/// What a weight holds along its first dimension: rows of parameters (or columns of some), as they are, rounded, or in whole numbers.
struct WeightRows {
  mlir::Value rows;                        // as they are, or rounded
  mlir::xf::QuantizeOp quantize = nullptr; // what makes whole numbers of them, if they are to be
  unsigned result = 0;                     // which of its results the weight holds

  /// Whether `rows` has columns of parameters: what is read then lies apart.
  bool hasColumns() const;
};

/// Nothing where a row of `weight` depends on more than rows of parameters.
std::optional<WeightRows> findRows(mlir::xf::WeightOp weight);

/// Some of the rows of a weight's layer, from `first` on: as many as fill `out`. `symbols` is that of the module. May be called from several
/// threads.
llvm::Error readRows(mlir::Value rows, int64_t layer, const mlir::SymbolTable &symbols, ParameterSource &source, int64_t first,
                     llvm::MutableArrayRef<float> out);

/// Whether a matrix is turned over.
bool isTransposition(mlir::xf::RearrangeOp op);

/// The value of an index in a weight's region for that number of a layer, which nested stacks divide into theirs.
int64_t indexAt(mlir::Value index, int64_t layer);

} // namespace xf

#endif // XF_COMPILER_REFERENCE_WEIGHTROWS_H
