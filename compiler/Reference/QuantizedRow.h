// `xf.quantize` for a row, in f32 whatever the row's precision: the interpreter uses it for a matrix, packing for some rows at a time.
#ifndef XF_COMPILER_REFERENCE_QUANTIZEDROW_H
#define XF_COMPILER_REFERENCE_QUANTIZEDROW_H

#include "dialect/IR/Xf.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace xf {

/// The Euclidean norm of `count` elements, rounded up.
template <typename F>
float euclideanNorm(size_t count, F element) {
  double squares = 0;
  for (size_t k = 0; k < count; ++k) {
    double x = element(k);
    squares += x * x;
  }
  return std::nextafter(static_cast<float>(std::sqrt(squares)), INFINITY);
}

/// A row as integers: int8, or int16.
template <typename T>
class QuantizedRow {
public:
  QuantizedRow(llvm::ArrayRef<T> row, bool toInt16) : row(row), elements(row.size()) {
    float largest = largestMagnitude(row);
    if (largest <= 0x1p-100f)
      return; // it counts as zeros
    float reciprocal = 127.0f / largest;
    scale = largest * static_cast<float>(1 / 127.0);
    if (toInt16) {
      reciprocal = std::min<float>(mlir::xf::QuantizeOp::kMaxInt16 / largest, mlir::xf::QuantizeOp::kMaxRowNorm / norm());
      scale = 1 / reciprocal;
    }
    // Numbers of this size have no bits after the point: adding it rounds as std::nearbyint does, which would be a call for each element.
    constexpr float roundingMagic = 0x1.8p23f;
    for (size_t k = 0; k < row.size(); ++k)
      elements[k] = (static_cast<float>(row[k]) * reciprocal + roundingMagic) - roundingMagic;
  }

  float getScale() const { return scale; }
  llvm::ArrayRef<float> getElements() const { return elements; }
  int64_t sum() const {
    int64_t sum = 0;
    for (float element : elements)
      sum += static_cast<int64_t>(element);
    return sum;
  }
  float norm() {
    if (!cachedNorm)
      cachedNorm = euclideanNorm(row.size(), [&](size_t k) { return double(row[k]); });
    return *cachedNorm;
  }
  /// The norm of the row's rounding errors, infinite for a row of large norm.
  float errorNorm() {
    if (norm() > 0x1p50f)
      return INFINITY;
    return euclideanNorm(row.size(), [&](size_t k) { return double(row[k]) - double(scale) * double(elements[k]); });
  }

private:
  /// The largest of 16 chains, which processors compute side by side.
  static float largestMagnitude(llvm::ArrayRef<T> row) {
    float largest[16] = {};
    for (size_t k = 0; k < row.size(); ++k)
      largest[k % 16] = std::max(largest[k % 16], std::fabs(static_cast<float>(row[k])));
    return *std::max_element(largest, largest + 16);
  }

  llvm::ArrayRef<T> row;
  std::vector<float> elements;
  float scale = 0;
  std::optional<float> cachedNorm;
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
