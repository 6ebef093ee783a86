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

/// Whether `op` may multiply words, and has few enough keys for them.
bool suitsWords(mlir::xf::AttendOp op);
/// Whether kernels for `isa` do.
bool attendsByWords(Isa isa, mlir::xf::AttendOp op);

class AttendWords {
public:
  using Value = mlir::Value;

  /// Offsets of keys, values and scales from the start, in floats. Keys are at 0.
  struct Scratch {
    explicit Scratch(mlir::xf::AttendOp op);
    int64_t values, keyScales, valueScales, total;
  };
  AttendWords(KernelBuilder &b, mlir::xf::AttendOp op, Value start);

  /// Converts a head's `count` keys and values to words, in the layouts that they have, unless they are those of the previous call; `head`
  /// identifies them.
  void take(Value head, Value keys, Value values, Value count);
  Value keys() { return start; }
  Value values() { return place(scratch.values); }
  Value keyScales() { return place(scratch.keyScales); }

  /// Converts a query to words in place, and returns its scale.
  Value takeQuery(Value row);
  /// Converts a row of f32 exponentials, each times its value's scale, to words in place: those of the keys from `begin`, a multiple of 16,
  /// to `end`, with zeros behind them up to `width`, a multiple of 16. Returns the scale of their products with the values.
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
