// Arithmetic on vectors of 16 (and on scalars): what kernels themselves compute with, beside what their regions say.
//
// All of it gives the same bits on AVX2 and AVX-512: the same operations in the same order. The baseline has no fused
// multiply-add and rounds twice instead.
#ifndef XF_COMPILER_TARGET_VECTORMATH_H
#define XF_COMPILER_TARGET_VECTORMATH_H

#include "compiler/Target/CodeBuilder.h"
#include "dialect/IR/Xf.h"

namespace xf::codegen {

/// The type of `like`, a vector or a scalar, with another element.
mlir::Type typeLike(mlir::Value like, mlir::Type element);
/// `value` in the type of `like`.
inline mlir::Value constantLike(CodeBuilder &b, double value, mlir::Value like) { return b.real(like.getType(), value); }

/// x * y + z.
mlir::Value fusedMultiplyAdd(CodeBuilder &b, mlir::Value x, mlir::Value y, mlir::Value z);

/// x * y + 1.5 * 2^23, of which the last bit counts 1: the product, rounded to an integer of at most 22 bits, in the lowest bits of an f32.
inline constexpr double kRoundingShift = 12582912;
mlir::Value multiplyAndRound(CodeBuilder &b, mlir::Value x, mlir::Value y);

/// The larger or smaller one in a single instruction. If `y` is NaN the result is; a NaN in `x` is dropped.
mlir::Value maximum(CodeBuilder &b, mlir::Value x, mlir::Value y);
mlir::Value minimum(CodeBuilder &b, mlir::Value x, mlir::Value y);

/// A polynomial by Horner's scheme, coefficients from the highest down; f64 without fused operations.
mlir::Value polynomial(CodeBuilder &b, mlir::Value x, llvm::ArrayRef<double> coefficients);

/// exp(x) for x <= 88 (or NaN), 0 below -87.3; what a softmax needs. Error below 1.1 ulp.
mlir::Value boundedExp(CodeBuilder &b, mlir::Value x);
/// The same where the result is rounded to 16 bits: the error is below 5e-6 of it.
mlir::Value shortBoundedExp(CodeBuilder &b, mlir::Value x);

/// An f32 rounded to bf16, ties to even, as its bits; and back. A vector's denormals become zeros where there are instructions for bf16,
/// whose products take them for zeros anyway.
mlir::Value narrowToBF16(CodeBuilder &b, mlir::Value x);
mlir::Value widenFromBF16(CodeBuilder &b, mlir::Value bits);
/// The same for f16, on targets that have instructions for it.
mlir::Value narrowToF16(CodeBuilder &b, mlir::Value x);
mlir::Value widenFromF16(CodeBuilder &b, mlir::Value bits);
/// The same for `element`, which is bf16 or f16.
mlir::Value narrowTo(CodeBuilder &b, mlir::Value x, mlir::Type element);
mlir::Value widenFrom(CodeBuilder &b, mlir::Value bits, mlir::Type element);

/// `count` lanes of a vector from the first one on.
mlir::Value lanesOf(CodeBuilder &b, mlir::Value vector, int64_t first, int64_t count);

/// The 16 lanes' sum or maximum by the tree that all targets share: distance 8, 4, 2, 1.
mlir::Value reduceLanes(CodeBuilder &b, mlir::xf::ReduceKind kind, mlir::Value vector);
/// `combine` gets the higher and the lower lanes.
mlir::Value reduceLanes(CodeBuilder &b, mlir::Value vector, llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> combine);
/// The first step of that, at distance 8: eight lanes.
mlir::Value foldLanes(CodeBuilder &b, mlir::xf::ReduceKind kind, mlir::Value vector);
/// The same of each of eight vectors, in a vector of eight. Their trees share instructions: it takes a third of the time. Four vectors are
/// the lanes of eight that were folded, one after the other.
mlir::Value reduceLanesOfEight(CodeBuilder &b, mlir::xf::ReduceKind kind, llvm::ArrayRef<mlir::Value> vectors);
/// Adds to or compares with a running sum or maximum. A `value` that is NaN is not the maximum (RowReduction).
mlir::Value combine(CodeBuilder &b, mlir::xf::ReduceKind kind, mlir::Value value, mlir::Value running);
/// The neutral element of a sum or maximum, as a scalar of `element`.
mlir::Value identity(CodeBuilder &b, mlir::xf::ReduceKind kind, mlir::Type element);

} // namespace xf::codegen

#endif // XF_COMPILER_TARGET_VECTORMATH_H
