// What a quantised matrix has beside its elements (see xf.quantize): noted when these are packed, for the weights behind them, which need not read
// the matrix again.
#ifndef XF_COMPILER_TARGET_LINK_ROWRESULTS_H
#define XF_COMPILER_TARGET_LINK_ROWRESULTS_H

#include "compiler/Reference/QuantizedRow.h"

namespace xf {

class RowResults {
public:
  RowResults(mlir::xf::QuantizeOp quantize, int64_t layers);

  /// Says that a weight will request a result of `quantize`.
  void keep(unsigned result);
  /// Makes elements of some rows of a layer, from row `first` on, and notes what is kept of them. Others may be made elsewhere at the same time.
  void quantize(llvm::ArrayRef<float> rows, int64_t layer, int64_t first, std::vector<float> &elements);
  /// The rows' part in the mean. They are added one behind the other, whatever they were quantised in: sums depend on their order.
  void addToMean(llvm::ArrayRef<float> rows, int64_t layer);
  /// A result that is kept, once all rows are quantised.
  llvm::ArrayRef<float> get(unsigned result, int64_t layer);

private:
  enum Kind { elements, scales, sums, lengths, errors, mean, kinds };
  /// int16 have no sums.
  Kind kindOf(unsigned result) const { return Kind(toInt16 && result >= sums ? result + 1 : result); }
  int64_t countOf(Kind kind) const { return kind == mean ? depth : height; }

  int64_t layers, height, depth; // of the matrix
  bool toInt16;
  std::vector<float> kept[kinds]; // of all layers; empty: not requested
  std::vector<MeanRow> means;     // of each layer
};

} // namespace xf

#endif // XF_COMPILER_TARGET_LINK_ROWRESULTS_H
