// Attention's factors of bf16 as words: signed integers of 16 bits with a scale a row, for instruction sets without instructions for bf16.
// VNNI multiplies words twice as fast as f32, and AVX2, too, is faster in them.
//
// A query, a key or a value x becomes w with x = scale * w, the scale a power of two: exact but for elements far smaller than the row's
// largest, which lose less beside it than bf16 does. A row that is not finite has the scale NaN. Sums are exact, and no row's words depend on
// another's.
#ifndef XF_COMPILER_TARGET_CPU_ATTENDWORDS_H
#define XF_COMPILER_TARGET_CPU_ATTENDWORDS_H

#include "compiler/Target/CPU/KernelBuilder.h"
#include "dialect/IR/Xf.h"

namespace xf::cpu {

/// Whether `op` may be multiplied so, and has so few keys that it is good.
bool suitsWords(mlir::xf::AttendOp op);
/// Whether `isa` does.
bool attendsByWords(Isa isa, mlir::xf::AttendOp op);

class AttendWords {
public:
  using Value = mlir::Value;

  /// Where keys, values and scales are, in floats from the start on.
  struct Scratch {
    explicit Scratch(mlir::xf::AttendOp op);
    int64_t values, keyScales, valueScales, total;
  };
  AttendWords(KernelBuilder &b, mlir::xf::AttendOp op, Value start);

  /// Makes words of a head's `count` keys and values, in the layouts that they have, unless they are those of the call before: `head` is a
  /// number of its own for each.
  void take(Value head, Value keys, Value values, Value count);
  Value keys() { return start; }
  Value values() { return place(scratch.values); }
  Value keyScales() { return place(scratch.keyScales); }

  /// Makes words of a query in place, and returns its scale.
  Value takeQuery(Value row);
  /// Makes words, in place, of a row of exponentials of f32 of the keys from `begin`, a multiple of 16, to `end`, each times its value's
  /// scale; zeros behind them up to `width`, a multiple of 16. Returns what to multiply their products with the values by.
  Value takeExponentials(Value row, Value begin, Value end, Value width);

private:
  Value place(int64_t offset) { return b.at(start, offset, b.getF32Type()); }
  Value integer(Value like, int64_t value) { return b.integer(like.getType(), value); }
  Value magnitudes(Value words);
  Value scaled(Value numbers, Value factor);
  Value packed(Value words, Value evenFactor, Value oddFactor);
  struct Scale {
    Value scale, inverse;
  };
  Scale scaleOf(Value magnitude, int64_t bits);
  void takeKeys(Value from, Value count);
  void takeValues(Value from, Value count);

  KernelBuilder &b;
  Value start, taken;
  int64_t width, valueWidth; // of a query or key, and of a value in its panels
  int64_t productBits; // of a query's or key's word, without its sign
  Scratch scratch;
};

} // namespace xf::cpu

#endif // XF_COMPILER_TARGET_CPU_ATTENDWORDS_H
