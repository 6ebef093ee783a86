// Upper bounds of the products of xf.choose, by products of bytes.
//
// A row is x = s q + e with bytes q, a column w = t p + f with bytes p. Then x w = s t Σ q p + (e w + s q f), and by Cauchy and
// Schwarz the second term is at most |e| |w| + |s q| |f|. What is known of the column, |w| and |f|, was computed when compiling,
// |e| and |s q| <= |x| + |e| are when the row is. The kernel's own product in floating point is at most (k + 1) roundings away
// from x w, each of |x| |w| 2^-24 at most.
#ifndef XF_COMPILER_TARGET_CPU_CHOOSESCREEN_H
#define XF_COMPILER_TARGET_CPU_CHOOSESCREEN_H

#include "compiler/Target/CPU/ChooseLogits.h"

namespace xf::cpu {

class ChooseScreen {
public:
  using Value = mlir::Value;
  /// `firstRow` is where row 0 has its bounds and bytes: ChooseOp::countScreened numbers of four bytes; `rowStride` such numbers
  /// further are the next one's.
  ChooseScreen(KernelBuilder &b, mlir::xf::ChooseOp op, Value firstRow, Value rowStride);

  /// Makes the bytes of a row, and what bounds of its products need.
  void quantize(const ChooseFactors &exact, Value row);
  /// The rows of bytes with the weight's.
  const ChooseFactors &factors() const { return factors_; }

  struct Row {
    Value scale, ofColumn, ofError; // in all lanes: s, and what |w| and |f| are multiplied by
  };
  Row rowAt(Value number);
  /// What no product of a row with 16 columns from `column` on exceeds. It is infinite or NaN where nothing is known.
  Value boundOf(const Row &row, Value column, Value lanes, Value products);

  /// Where a row keeps the bound of panel `panel`.
  Value boundAt(Value row, Value panel) { return b.at(firstRow, b.add(b.mul(row, rowStride), panel), b.getF32Type()); }

private:
  enum Part : unsigned { bytes, scales, sums, lengths, errors };
  Value ofColumns(Part part, Value column, Value lanes);
  Value scalarsOf(Value row) { return boundAt(row, b.i64(paddedPanels)); }
  Value bytesOf(Value row) { return b.at(scalarsOf(row), kLanes, b.getF32Type()); }
  Value load(const ChooseFactors &exact, Value row, Value offset, Value lanes);

  KernelBuilder &b;
  unsigned firstView; // of the screen's
  int64_t depth, paddedPanels;
  Value firstRow, rowStride;
  ChooseFactors factors_;
};

} // namespace xf::cpu

#endif // XF_COMPILER_TARGET_CPU_CHOOSESCREEN_H
