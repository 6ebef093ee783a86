// What each scalar op does, on a register's lanes.
#include "compiler/Reference/Scalar.h"
#include "dialect/IR/Xf.h"

#include "llvm/ADT/StringMap.h"

#include <cmath>

namespace xf {
namespace {

// Kernels by the files of their operands and result: f(loat), i(nteger). F works on one lane.
template <auto F>
void f_f(ScalarFrame &s, const ScalarInst &inst) {
  double *r = s.floats(inst.result);
  const double *a = s.floats(inst.operands[0]);
  for (int l = 0; l < s.lanes; ++l)
    r[l] = F(a[l]);
}
template <auto F>
void f_ff(ScalarFrame &s, const ScalarInst &inst) {
  double *r = s.floats(inst.result);
  const double *a = s.floats(inst.operands[0]), *b = s.floats(inst.operands[1]);
  for (int l = 0; l < s.lanes; ++l)
    r[l] = F(a[l], b[l]);
}
template <auto F>
void f_fff(ScalarFrame &s, const ScalarInst &inst) {
  double *r = s.floats(inst.result);
  const double *a = s.floats(inst.operands[0]), *b = s.floats(inst.operands[1]), *c = s.floats(inst.operands[2]);
  for (int l = 0; l < s.lanes; ++l)
    r[l] = F(a[l], b[l], c[l]);
}
template <auto F>
void f_fi(ScalarFrame &s, const ScalarInst &inst) {
  double *r = s.floats(inst.result);
  const double *a = s.floats(inst.operands[0]);
  const int64_t *b = s.ints(inst.operands[1]);
  for (int l = 0; l < s.lanes; ++l)
    r[l] = F(a[l], b[l]);
}
template <auto F>
void i_ff(ScalarFrame &s, const ScalarInst &inst) {
  int64_t *r = s.ints(inst.result);
  const double *a = s.floats(inst.operands[0]), *b = s.floats(inst.operands[1]);
  for (int l = 0; l < s.lanes; ++l)
    r[l] = F(a[l], b[l]);
}
template <auto F>
void i_f(ScalarFrame &s, const ScalarInst &inst) {
  int64_t *r = s.ints(inst.result);
  const double *a = s.floats(inst.operands[0]);
  for (int l = 0; l < s.lanes; ++l)
    r[l] = F(a[l]);
}

/// Two's complement of `bits` bits: a bool is 0 or 1, anything else sign-extended.
int64_t wrap(int64_t value, unsigned bits) {
  if (bits == 1)
    return value & 1;
  return bits >= 64 ? value : int64_t(uint64_t(value) << (64 - bits)) >> (64 - bits);
}
uint64_t zeroExtend(int64_t value, unsigned bits) { return bits >= 64 ? value : uint64_t(value) & ((uint64_t(1) << bits) - 1); }
int64_t signExtend(int64_t value, unsigned bits) { return bits == 1 ? -(value & 1) : value; }

/// Integer arithmetic, defined for every operand: overflow wraps, and dividing by zero gives zero.
template <auto F>
void i_ii(ScalarFrame &s, const ScalarInst &inst) {
  int64_t *r = s.ints(inst.result);
  const int64_t *a = s.ints(inst.operands[0]), *b = s.ints(inst.operands[1]);
  for (int l = 0; l < s.lanes; ++l)
    r[l] = wrap(F(a[l], b[l]), inst.bits);
}
template <auto F>
void i_uu(ScalarFrame &s, const ScalarInst &inst) {
  int64_t *r = s.ints(inst.result);
  const int64_t *a = s.ints(inst.operands[0]), *b = s.ints(inst.operands[1]);
  for (int l = 0; l < s.lanes; ++l)
    r[l] = wrap(F(zeroExtend(a[l], inst.bits), zeroExtend(b[l], inst.bits)), inst.bits);
}
template <auto F>
void i_i(ScalarFrame &s, const ScalarInst &inst) {
  int64_t *r = s.ints(inst.result);
  const int64_t *a = s.ints(inst.operands[0]);
  for (int l = 0; l < s.lanes; ++l)
    r[l] = F(a[l], inst.bits);
}
template <auto F>
void compareSigned(ScalarFrame &s, const ScalarInst &inst) {
  int64_t *r = s.ints(inst.result);
  const int64_t *a = s.ints(inst.operands[0]), *b = s.ints(inst.operands[1]);
  for (int l = 0; l < s.lanes; ++l)
    r[l] = F(signExtend(a[l], inst.bits), signExtend(b[l], inst.bits));
}
template <auto F>
void compareUnsigned(ScalarFrame &s, const ScalarInst &inst) {
  int64_t *r = s.ints(inst.result);
  const int64_t *a = s.ints(inst.operands[0]), *b = s.ints(inst.operands[1]);
  for (int l = 0; l < s.lanes; ++l)
    r[l] = F(zeroExtend(a[l], inst.bits), zeroExtend(b[l], inst.bits));
}
template <auto F>
void f_i(ScalarFrame &s, const ScalarInst &inst) {
  double *r = s.floats(inst.result);
  const int64_t *a = s.ints(inst.operands[0]);
  for (int l = 0; l < s.lanes; ++l)
    r[l] = F(a[l], inst.bits);
}

void selectFloat(ScalarFrame &s, const ScalarInst &inst) {
  double *r = s.floats(inst.result);
  const int64_t *c = s.ints(inst.operands[0]);
  const double *a = s.floats(inst.operands[1]), *b = s.floats(inst.operands[2]);
  for (int l = 0; l < s.lanes; ++l)
    r[l] = c[l] ? a[l] : b[l];
}
void selectInt(ScalarFrame &s, const ScalarInst &inst) {
  int64_t *r = s.ints(inst.result);
  const int64_t *c = s.ints(inst.operands[0]), *a = s.ints(inst.operands[1]), *b = s.ints(inst.operands[2]);
  for (int l = 0; l < s.lanes; ++l)
    r[l] = c[l] ? a[l] : b[l];
}
void fusedMultiplyAdd(ScalarFrame &s, const ScalarInst &inst) {
  double *r = s.floats(inst.result);
  const double *a = s.floats(inst.operands[0]), *b = s.floats(inst.operands[1]), *c = s.floats(inst.operands[2]);
  bool narrow = inst.f32 && s.precision == Precision::F32;
  for (int l = 0; l < s.lanes; ++l)
    r[l] = narrow ? std::fma(float(a[l]), float(b[l]), float(c[l])) : std::fma(a[l], b[l], c[l]);
}

/// xf.at: an element of a tensor for each lane.
void at(ScalarFrame &s, const ScalarInst &inst) {
  const TensorView &view = s.views[inst.tensor];
  for (int l = 0; l < s.lanes; ++l) {
    int64_t offset = 0;
    bool inBounds = true;
    for (auto [d, reg] : llvm::enumerate(inst.indices)) {
      int64_t index = s.ints(reg)[l];
      inBounds &= index >= 0 && index < view.shape[d];
      offset = offset * view.shape[d] + index;
    }
    s.outOfBounds |= !inBounds;
    if (view.ints)
      s.ints(inst.result)[l] = inBounds ? view.ints[offset] : 0;
    else
      s.floats(inst.result)[l] = !inBounds ? 0 : view.f64 ? view.f64[offset] : view.f32[offset];
  }
}

double maximum(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return NAN;
  return a == b ? (std::signbit(a) ? b : a) : std::max(a, b);
}
double minimum(double a, double b) { return -maximum(-a, -b); }
bool unordered(double a, double b) { return std::isnan(a) || std::isnan(b); }
/// Converts like hardware, but every value is defined.
int64_t toInt(double a) { return std::isnan(a) ? 0 : a >= 0x1p63 ? INT64_MAX : a <= -0x1p63 ? INT64_MIN : int64_t(a); }
double integerPower(double a, int64_t n) {
  double result = 1;
  for (uint64_t m = n < 0 ? -uint64_t(n) : n; m; m >>= 1, a *= a)
    if (m & 1)
      result *= a;
  return n < 0 ? 1 / result : result;
}
// Division by -1 is a negation, so that the smallest integer wraps.
int64_t divide(int64_t a, int64_t b) { return b == 0 ? 0 : b == -1 ? int64_t(-uint64_t(a)) : a / b; }
int64_t remainder(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }
int64_t floorDivide(int64_t a, int64_t b) { return divide(a, b) - (remainder(a, b) != 0 && (a < 0) != (b < 0)); }
int64_t ceilDivide(int64_t a, int64_t b) { return divide(a, b) + (remainder(a, b) != 0 && (a < 0) == (b < 0)); }
// Shifting by the width and more gives what shifting bit by bit would.
int64_t shiftLeft(int64_t a, int64_t b) { return b < 0 || b > 63 ? 0 : int64_t(uint64_t(a) << b); }
int64_t shiftRight(int64_t a, int64_t b) { return a >> (b < 0 || b > 63 ? 63 : b); }
int64_t shiftRightLogical(uint64_t a, uint64_t b) { return b > 63 ? 0 : int64_t(a >> b); }

const llvm::StringMap<ScalarKernel> &kernels() {
  static const llvm::StringMap<ScalarKernel> table = {
      {"xf.at", at},
      {"arith.addf", f_ff<[](double a, double b) { return a + b; }>},
      {"arith.subf", f_ff<[](double a, double b) { return a - b; }>},
      {"arith.mulf", f_ff<[](double a, double b) { return a * b; }>},
      {"arith.divf", f_ff<[](double a, double b) { return a / b; }>},
      {"arith.remf", f_ff<[](double a, double b) { return std::fmod(a, b); }>},
      {"arith.negf", f_f<[](double a) { return -a; }>},
      {"arith.maximumf", f_ff<maximum>},
      {"arith.minimumf", f_ff<minimum>},
      {"arith.maxnumf", f_ff<[](double a, double b) { return std::fmax(a, b); }>},
      {"arith.minnumf", f_ff<[](double a, double b) { return std::fmin(a, b); }>},
      {"arith.extf", f_f<[](double a) { return a; }>},
      {"arith.truncf", f_f<[](double a) { return a; }>},
      {"arith.sitofp", f_i<[](int64_t a, unsigned bits) { return double(signExtend(a, bits)); }>},
      {"arith.uitofp", f_i<[](int64_t a, unsigned bits) { return double(zeroExtend(a, bits)); }>},
      {"arith.fptosi", i_f<toInt>},
      {"arith.fptoui", i_f<toInt>},
      {"arith.index_cast", i_i<signExtend>},
      {"arith.index_castui", i_i<[](int64_t a, unsigned bits) { return int64_t(zeroExtend(a, bits)); }>},
      {"arith.extsi", i_i<signExtend>},
      {"arith.extui", i_i<[](int64_t a, unsigned bits) { return int64_t(zeroExtend(a, bits)); }>},
      {"arith.trunci", i_i<wrap>},
      {"arith.addi", i_ii<[](int64_t a, int64_t b) { return int64_t(uint64_t(a) + uint64_t(b)); }>},
      {"arith.subi", i_ii<[](int64_t a, int64_t b) { return int64_t(uint64_t(a) - uint64_t(b)); }>},
      {"arith.muli", i_ii<[](int64_t a, int64_t b) { return int64_t(uint64_t(a) * uint64_t(b)); }>},
      {"arith.divsi", i_ii<divide>},
      {"arith.remsi", i_ii<remainder>},
      {"arith.floordivsi", i_ii<floorDivide>},
      {"arith.ceildivsi", i_ii<ceilDivide>},
      {"arith.divui", i_uu<[](uint64_t a, uint64_t b) { return int64_t(b ? a / b : 0); }>},
      {"arith.remui", i_uu<[](uint64_t a, uint64_t b) { return int64_t(b ? a % b : 0); }>},
      {"arith.ceildivui", i_uu<[](uint64_t a, uint64_t b) { return int64_t(b ? a / b + (a % b != 0) : 0); }>},
      {"arith.andi", i_ii<[](int64_t a, int64_t b) { return a & b; }>},
      {"arith.ori", i_ii<[](int64_t a, int64_t b) { return a | b; }>},
      {"arith.xori", i_ii<[](int64_t a, int64_t b) { return a ^ b; }>},
      {"arith.shli", i_ii<shiftLeft>},
      {"arith.shrsi", i_ii<shiftRight>},
      {"arith.shrui", i_uu<shiftRightLogical>},
      {"arith.maxsi", i_ii<[](int64_t a, int64_t b) { return std::max(a, b); }>},
      {"arith.minsi", i_ii<[](int64_t a, int64_t b) { return std::min(a, b); }>},
      {"arith.maxui", i_uu<[](uint64_t a, uint64_t b) { return int64_t(std::max(a, b)); }>},
      {"arith.minui", i_uu<[](uint64_t a, uint64_t b) { return int64_t(std::min(a, b)); }>},
      {"math.absf", f_f<[](double a) { return std::fabs(a); }>},
      {"math.absi", i_i<[](int64_t a, unsigned bits) { return wrap(a < 0 ? int64_t(-uint64_t(a)) : a, bits); }>},
      {"math.ceil", f_f<[](double a) { return std::ceil(a); }>},
      {"math.floor", f_f<[](double a) { return std::floor(a); }>},
      {"math.round", f_f<[](double a) { return std::round(a); }>},
      {"math.roundeven", f_f<[](double a) { return std::nearbyint(a); }>},
      {"math.trunc", f_f<[](double a) { return std::trunc(a); }>},
      {"math.exp", f_f<[](double a) { return std::exp(a); }>},
      {"math.exp2", f_f<[](double a) { return std::exp2(a); }>},
      {"math.expm1", f_f<[](double a) { return std::expm1(a); }>},
      {"math.log", f_f<[](double a) { return std::log(a); }>},
      {"math.log2", f_f<[](double a) { return std::log2(a); }>},
      {"math.log10", f_f<[](double a) { return std::log10(a); }>},
      {"math.log1p", f_f<[](double a) { return std::log1p(a); }>},
      {"math.sin", f_f<[](double a) { return std::sin(a); }>},
      {"math.cos", f_f<[](double a) { return std::cos(a); }>},
      {"math.tan", f_f<[](double a) { return std::tan(a); }>},
      {"math.asin", f_f<[](double a) { return std::asin(a); }>},
      {"math.acos", f_f<[](double a) { return std::acos(a); }>},
      {"math.atan", f_f<[](double a) { return std::atan(a); }>},
      {"math.sinh", f_f<[](double a) { return std::sinh(a); }>},
      {"math.cosh", f_f<[](double a) { return std::cosh(a); }>},
      {"math.asinh", f_f<[](double a) { return std::asinh(a); }>},
      {"math.acosh", f_f<[](double a) { return std::acosh(a); }>},
      {"math.atanh", f_f<[](double a) { return std::atanh(a); }>},
      {"math.tanh", f_f<[](double a) { return std::tanh(a); }>},
      {"math.erf", f_f<[](double a) { return std::erf(a); }>},
      {"math.erfc", f_f<[](double a) { return std::erfc(a); }>},
      {"math.sqrt", f_f<[](double a) { return std::sqrt(a); }>},
      {"math.rsqrt", f_f<[](double a) { return 1 / std::sqrt(a); }>},
      {"math.cbrt", f_f<[](double a) { return std::cbrt(a); }>},
      {"math.powf", f_ff<[](double a, double b) { return std::pow(a, b); }>},
      {"math.atan2", f_ff<[](double a, double b) { return std::atan2(a, b); }>},
      {"math.copysign", f_ff<[](double a, double b) { return std::copysign(a, b); }>},
      {"math.clampf", f_fff<[](double a, double low, double high) { return minimum(maximum(a, low), high); }>},
      {"math.fma", fusedMultiplyAdd},
      {"math.fpowi", f_fi<integerPower>},
      {"math.isnan", i_f<[](double a) { return int64_t(std::isnan(a)); }>},
      {"math.isinf", i_f<[](double a) { return int64_t(std::isinf(a)); }>},
      {"math.isfinite", i_f<[](double a) { return int64_t(std::isfinite(a)); }>},
  };
  return table;
}

ScalarKernel compareFloats(mlir::arith::CmpFPredicate predicate) {
  using P = mlir::arith::CmpFPredicate;
  switch (predicate) {
  case P::AlwaysFalse:
    return i_ff<[](double, double) { return int64_t(0); }>;
  case P::AlwaysTrue:
    return i_ff<[](double, double) { return int64_t(1); }>;
  case P::OEQ:
    return i_ff<[](double a, double b) { return int64_t(a == b); }>;
  case P::OGT:
    return i_ff<[](double a, double b) { return int64_t(a > b); }>;
  case P::OGE:
    return i_ff<[](double a, double b) { return int64_t(a >= b); }>;
  case P::OLT:
    return i_ff<[](double a, double b) { return int64_t(a < b); }>;
  case P::OLE:
    return i_ff<[](double a, double b) { return int64_t(a <= b); }>;
  case P::ONE:
    return i_ff<[](double a, double b) { return int64_t(a < b || a > b); }>;
  case P::ORD:
    return i_ff<[](double a, double b) { return int64_t(!unordered(a, b)); }>;
  case P::UEQ:
    return i_ff<[](double a, double b) { return int64_t(unordered(a, b) || a == b); }>;
  case P::UGT:
    return i_ff<[](double a, double b) { return int64_t(!(a <= b)); }>;
  case P::UGE:
    return i_ff<[](double a, double b) { return int64_t(!(a < b)); }>;
  case P::ULT:
    return i_ff<[](double a, double b) { return int64_t(!(a >= b)); }>;
  case P::ULE:
    return i_ff<[](double a, double b) { return int64_t(!(a > b)); }>;
  case P::UNE:
    return i_ff<[](double a, double b) { return int64_t(a != b); }>;
  case P::UNO:
    return i_ff<[](double a, double b) { return int64_t(unordered(a, b)); }>;
  }
  return nullptr;
}

ScalarKernel compareInts(mlir::arith::CmpIPredicate predicate) {
  using P = mlir::arith::CmpIPredicate;
  switch (predicate) {
  case P::eq:
    return compareSigned<[](int64_t a, int64_t b) { return a == b; }>;
  case P::ne:
    return compareSigned<[](int64_t a, int64_t b) { return a != b; }>;
  case P::slt:
    return compareSigned<[](int64_t a, int64_t b) { return a < b; }>;
  case P::sle:
    return compareSigned<[](int64_t a, int64_t b) { return a <= b; }>;
  case P::sgt:
    return compareSigned<[](int64_t a, int64_t b) { return b < a; }>;
  case P::sge:
    return compareSigned<[](int64_t a, int64_t b) { return a >= b; }>;
  case P::ult:
    return compareUnsigned<[](uint64_t a, uint64_t b) { return a < b; }>;
  case P::ule:
    return compareUnsigned<[](uint64_t a, uint64_t b) { return a <= b; }>;
  case P::ugt:
    return compareUnsigned<[](uint64_t a, uint64_t b) { return b < a; }>;
  case P::uge:
    return compareUnsigned<[](uint64_t a, uint64_t b) { return a >= b; }>;
  }
  return nullptr;
}

} // namespace

ScalarKernel findCopyKernel() { return kernels().lookup("arith.extf"); }

ScalarKernel findScalarKernel(mlir::Operation *op) {
  if (auto cmp = llvm::dyn_cast<mlir::arith::CmpFOp>(op))
    return compareFloats(cmp.getPredicate());
  if (auto cmp = llvm::dyn_cast<mlir::arith::CmpIOp>(op))
    return compareInts(cmp.getPredicate());
  if (llvm::isa<mlir::arith::SelectOp>(op))
    return llvm::isa<mlir::FloatType>(op->getResult(0).getType()) ? selectFloat : selectInt;
  return kernels().lookup(op->getName().getStringRef());
}

} // namespace xf
