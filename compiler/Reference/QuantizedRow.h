// What `xf.quantize` makes of a row, in f32 whatever the row's precision: the interpreter asks for a matrix's, packing for some rows at a time.
#ifndef XF_COMPILER_REFERENCE_QUANTIZEDROW_H
#define XF_COMPILER_REFERENCE_QUANTIZEDROW_H

#include "dialect/IR/Xf.h"

#include <cmath>

namespace xf {

/// A row's Euclidean length, rounded up.
template <typename T>
float lengthOf(llvm::ArrayRef<T> row) {
  double squares = 0;
  for (T x : row)
    squares += double(x) * double(x);
  return std::nextafter(static_cast<float>(std::sqrt(squares)), INFINITY);
}

/// A row in whole numbers: bytes, or words.
template <typename T>
class QuantizedRow {
public:
  QuantizedRow(llvm::ArrayRef<T> row, bool toWords) : row(row) {
    float largest = 0;
    for (T value : row)
      largest = std::max(largest, std::fabs(static_cast<float>(value)));
    if (largest <= 0x1p-100f)
      return;
    reciprocal = 127.0f / largest;
    scale = largest * static_cast<float>(1 / 127.0);
    if (toWords) {
      reciprocal = std::min<float>(mlir::xf::QuantizeOp::kLargestWord / largest, mlir::xf::QuantizeOp::kLongestRow / lengthOf(row));
      scale = 1 / reciprocal;
    }
  }

  float getScale() const { return scale; }
  int64_t element(int64_t k) const { return static_cast<int64_t>(std::nearbyint(static_cast<float>(row[k]) * reciprocal)); }
  int64_t sum() const {
    int64_t sum = 0;
    for (size_t k = 0; k < row.size(); ++k)
      sum += element(k);
    return sum;
  }
  /// The length of what its elements lack, infinite for a long row.
  float error() const {
    if (lengthOf(row) > 0x1p50f)
      return INFINITY;
    std::vector<double> lost(row.size());
    for (size_t k = 0; k < row.size(); ++k)
      lost[k] = double(row[k]) - double(scale) * double(element(k));
    return lengthOf(llvm::ArrayRef(lost));
  }

private:
  llvm::ArrayRef<T> row;
  float scale = 0, reciprocal = 0; // 0: it counts as zeros
};

/// The mean of rows.
class MeanRow {
public:
  explicit MeanRow(int64_t depth) : sums(depth) {}
  template <typename T>
  void add(llvm::ArrayRef<T> row) {
    for (size_t k = 0; k < row.size(); ++k)
      sums[k] += double(row[k]);
    ++rows;
  }
  float element(int64_t k) const { return static_cast<float>(sums[k] / rows); }

private:
  std::vector<double> sums;
  int64_t rows = 0;
};

} // namespace xf

#endif // XF_COMPILER_REFERENCE_QUANTIZEDROW_H
