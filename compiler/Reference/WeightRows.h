// Weights by rows: a matrix that is packed need not be in memory as a whole.
#ifndef XF_COMPILER_REFERENCE_WEIGHTROWS_H
#define XF_COMPILER_REFERENCE_WEIGHTROWS_H

#include "compiler/Import/ParameterSource.h"

namespace xf {

/// What a weight holds along its first dimension: rows of parameters (or columns of some), as they are, rounded, or as integers.
struct WeightRows {
  mlir::Value rows;                        // as they are, or rounded
  mlir::xf::QuantizeOp quantize = nullptr; // what makes integers of them, if anything does
  unsigned result = 0;                     // which of its results the weight holds

  /// Whether `rows` has columns of parameters, which are not contiguous.
  bool hasColumns() const;
};

/// Nothing where a row of `weight` depends on more than rows of parameters.
std::optional<WeightRows> findRows(mlir::xf::WeightOp weight);

/// Reads rows of a weight's layer, from `first` on, as many as fill `out`. `symbols` is that of the module. May be called from several
/// threads.
llvm::Error readRows(mlir::Value rows, int64_t layer, const mlir::SymbolTable &symbols, ParameterSource &source, int64_t first,
                     llvm::MutableArrayRef<float> out);

/// Whether a matrix is transposed.
bool isTransposition(mlir::xf::RearrangeOp op);

/// The value of an index in a weight's region for this layer, whose flat index nested stacks split into their own.
int64_t indexAt(mlir::Value index, int64_t layer);

} // namespace xf

#endif // XF_COMPILER_REFERENCE_WEIGHTROWS_H
