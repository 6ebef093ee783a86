// A kernel's values with operators, for arithmetic that the runtime's headers state for the host and for kernels (xf_log.h, xf_exp.h, xf_mix.h).
#ifndef XF_COMPILER_TARGET_GPU_DEVICESCALAR_H
#define XF_COMPILER_TARGET_GPU_DEVICESCALAR_H

#include "compiler/Target/GPU/GpuBuilder.h"

namespace xf::gpu {

/// An f32 or f64.
struct Real {
  GpuBuilder &b;
  mlir::Value value;
  Real(GpuBuilder &b, mlir::Value value) : b(b), value(value) {}
  Real(const Real &) = default;
  Real &operator=(const Real &other) { return value = other.value, *this; }
  Real operator+(const Real &y) const { return {b, b.create<mlir::arith::AddFOp>(value, y.value)}; }
  Real operator-(const Real &y) const { return {b, b.create<mlir::arith::SubFOp>(value, y.value)}; }
  Real operator*(const Real &y) const { return {b, b.create<mlir::arith::MulFOp>(value, y.value)}; }
  Real operator/(const Real &y) const { return {b, b.create<mlir::arith::DivFOp>(value, y.value)}; }
};

/// An i64.
struct Word {
  GpuBuilder &b;
  mlir::Value value;
  Word(GpuBuilder &b, mlir::Value value) : b(b), value(value) {}
  Word(const Word &) = default;
  Word &operator=(const Word &other) { return value = other.value, *this; }
  Word operator^(const Word &y) const { return {b, b.create<mlir::arith::XOrIOp>(value, y.value)}; }
  Word operator*(const Word &y) const { return {b, b.create<mlir::arith::MulIOp>(value, y.value)}; }
  Word operator+(const Word &y) const { return {b, b.create<mlir::arith::AddIOp>(value, y.value)}; }
  Word operator>>(int64_t count) const { return {b, b.create<mlir::arith::ShRUIOp>(value, b.i64(count))}; }
};

} // namespace xf::gpu

#endif // XF_COMPILER_TARGET_GPU_DEVICESCALAR_H
