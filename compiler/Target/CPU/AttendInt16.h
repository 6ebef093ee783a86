// Attention's factors of bf16 as int16, with a scale a row, for instruction sets without instructions for bf16.
// VNNI multiplies int16 twice as fast as f32, and AVX2, too, is faster in them.
//
// A query, a key or a value x becomes w with x = scale * w, the scale a power of two: exact but for elements far smaller than the row's
// largest, which lose less beside it than bf16 does. A row that is not finite has the scale NaN. Sums are exact, and no row's int16 depend on
// another's.
#ifndef XF_COMPILER_TARGET_CPU_ATTENDINT16_H
#define XF_COMPILER_TARGET_CPU_ATTENDINT16_H

#include "compiler/Target/CPU/KernelBuilder.h"
#include "dialect/IR/Xf.h"

namespace xf::cpu {

/// Whether `op` may multiply int16, and has few enough keys for them.
bool suitsInt16(mlir::xf::AttendOp op);
/// Whether kernels for `isa` do.
bool attendsInInt16(Isa isa, mlir::xf::AttendOp op);

class AttendInt16 {
public:
  using Value = mlir::Value;

  /// Offsets of keys, values and scales from the start, in floats. Keys are at 0.
  struct Scratch {
    explicit Scratch(mlir::xf::AttendOp op);
    int64_t values, keyScales, valueScales, total;
  };
  AttendInt16(KernelBuilder &b, mlir::xf::AttendOp op, Value start);

  /// Converts a head's `count` keys and values to int16, in the layouts that they have, unless they are those of the previous call; `head`
  /// identifies them.
  void quantize(Value head, Value keys, Value values, Value count);
  Value keys() { return start; }
  Value values() { return address(scratch.values); }
  Value keyScales() { return address(scratch.keyScales); }

  /// Converts a query to int16 in place, and returns its scale.
  Value quantizeQuery(Value row);
  /// Converts a row of f32 exponentials, each times its value's scale, to int16 in place: those of the keys from `begin`, a multiple of 16,
  /// to `end`, with zeros behind them up to `width`, a multiple of 16. Returns the scale of their products with the values.
  Value quantizeExponentials(Value row, Value begin, Value end, Value width);

private:
  Value address(int64_t offset) { return b.at(start, offset, b.getF32Type()); }
  Value integer(Value like, int64_t value) { return b.integer(like.getType(), value); }
  Value magnitudes(Value bits);
  Value scaled(Value values, Value factor);
  Value packed(Value pairs, Value evenFactor, Value oddFactor);
  struct Scale {
    Value scale, inverse;
  };
  Scale scaleOf(Value magnitude, int64_t bits);
  void quantizeKeys(Value from, Value count);
  void quantizeValues(Value from, Value count);

  KernelBuilder &b;
  Value start, quantizedHead;
  int64_t width, valueWidth; // of a query or key, and of a value in its panels
  int64_t productBits; // of a query's or key's int16, without its sign
  Scratch scratch;
};

} // namespace xf::cpu

#endif // XF_COMPILER_TARGET_CPU_ATTENDINT16_H
