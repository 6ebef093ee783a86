// Upper bounds of the products of xf.choose, by products of int8 or of int16.
//
// A row is x = s q + e with integers q, a column w = t p + f with integers p. Then x w = s t Σ q p + (e w + s q f), and by Cauchy and
// Schwarz the second term is at most |e| |w| + |s q| |f|. The column's |w| and |f| are computed when compiling, the row's |e| and
// |s q| <= |x| + |e| when the row is quantised. The kernel's own product in floating point is at most (k + 1) roundings away
// from x w, each of |x| |w| 2^-24 at most. The part of e w that columns have in common, e m with their mean m, is computed: the rest
// differs from column to column.
#ifndef XF_COMPILER_TARGET_CPU_CHOOSESCREEN_H
#define XF_COMPILER_TARGET_CPU_CHOOSESCREEN_H

#include "compiler/Target/CPU/ChooseLogits.h"

namespace xf::cpu {

class ChooseScreen {
public:
  using Value = mlir::Value;
  /// `factor` is i8 for the op's screen, i16 for its words. `firstRow` is the address of row 0's bounds and integers,
  /// ChooseOp::countScreened elements of four bytes; those of the next row are `rowStride` such elements further.
  ChooseScreen(KernelBuilder &b, mlir::xf::ChooseOp op, Factor factor, Value firstRow, Value rowStride);

  /// Quantises a row, and computes what bounds of its products need.
  void quantize(const ChooseFactors &exact, Value row);
  /// The quantised rows with the quantised weight.
  const ChooseFactors &factors() const { return factors_; }

  struct Row {
    Value scale, ofColumn, ofError, shift; // in all lanes: s, what |w| and |f| are multiplied by, and e with the mean column
  };
  Row rowAt(Value row);
  /// Of a row's products with 16 columns: their estimates, s t Σ q p + e m with the mean column m, and their upper bounds. Where nothing
  /// is known of a row or column, its bounds are infinite or NaN.
  struct Estimates {
    Value products, bounds;
  };
  /// From the products of integers; the columns are those from `column` on.
  Estimates estimate(const Row &row, Value column, Value lanes, Value products);

  /// Where a row keeps the bound of panel `panel`, and, if somebody requests sums, the sum of the panel's exponentials.
  Value boundAt(Value row, Value panel) { return b.at(firstRow, b.add(b.mul(row, rowStride), panel), b.getF32Type()); }
  Value panelSumAt(Value row, Value panel) { return b.at(b.at(integersOf(row), rowWords, b.getF32Type()), panel, b.getF32Type()); }
  /// Where a row keeps how many of its panels are computed, an i64.
  Value countAt(Value row) { return scalarAt(row, count); }

private:
  bool isBytes() const { return factors_.weight.factor == Factor::i8; }
  Value ofColumns(unsigned view, mlir::Type element, Value column, Value lanes);
  /// What a row keeps between its bounds and its integers: what Row has, and a count, which takes eight bytes.
  enum Scalar : int64_t { scale, ofColumn, ofError, shift, count };
  Value scalarsOf(Value row) { return boundAt(row, b.i64(paddedPanels)); }
  Value scalarAt(Value row, Scalar scalar) { return b.at(scalarsOf(row), scalar, b.getF32Type()); }
  Value integersOf(Value row) { return b.at(scalarsOf(row), kLanes, b.getF32Type()); }
  Value load(const ChooseFactors &exact, Value row, Value offset, Value lanes);

  /// A row that is being quantised.
  struct Source {
    const ChooseFactors &exact;
    Value row;
    Value length = {}, divisor = {};         // |x|, and what x is divided by
    Value hasBounds = {};                    // i1; else the row counts as zeros
    Value integers = {};                     // address of its integers
    Value reciprocals = {}, areBounded = {}; // 1 / reach and hasBounds, in all lanes
  };
  Source measure(const ChooseFactors &exact, Value row);
  Value ifBounded(const Source &source, Value x, Value otherwise) { return b.create<mlir::arith::SelectOp>(source.hasBounds, x, otherwise); }
  /// 16 elements of the row, and the integers nearest to their quotients by `divisor`, as f32.
  std::pair<Value, Value> integersAt(const Source &source, Value offset, Value lanes);
  /// Stores the integers, and returns s.
  Value storeIntegers(const Source &source);
  /// Of the error e of the integers times `scale`: its norm, and its product with the mean column, of which each lane has a partial sum.
  std::pair<Value, Value> measureError(const Source &source, Value scale);
  /// What a row is divided by, from its largest element and its length.
  Value scaleOf(Value largest, Value length);

  KernelBuilder &b;
  unsigned scales, sums, lengths, errors, mean; // their views
  int64_t depth, paddedPanels, rowWords;  // rowWords: of four bytes, for a row's integers
  Value firstRow, rowStride;
  ChooseFactors factors_;
};

} // namespace xf::cpu

#endif // XF_COMPILER_TARGET_CPU_CHOOSESCREEN_H
