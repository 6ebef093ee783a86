// Mathematical functions as arithmetic: where neither MLIR nor LLVM has code for one, or none that is accurate enough.
//
// Their polynomials were fitted by their largest error (Lawson's algorithm). Like those of VectorMath.h they have the same bits on all
// targets with fused multiply-add.
#include "compiler/Target/MathFunctions.h"

#include "compiler/Target/VectorMath.h"

#include <cmath>
#include <optional>

using namespace mlir;

namespace xf::codegen {

static Value add(CodeBuilder &b, Value x, Value y) { return b.create<arith::AddFOp>(x, y); }
static Value sub(CodeBuilder &b, Value x, Value y) { return b.create<arith::SubFOp>(x, y); }
static Value mul(CodeBuilder &b, Value x, Value y) { return b.create<arith::MulFOp>(x, y); }
static Value choose(CodeBuilder &b, Value condition, Value x, Value y) { return b.create<arith::SelectOp>(condition, x, y); }

/// sin or cos. The argument is brought to [-π/4, π/4] in f64, where no position times frequency loses anything (where operations are fused,
/// no f32 below 2^53).
static Value sineOrCosine(CodeBuilder &b, Value x, bool cosine) {
  Type wide = typeLike(x, b.getF64Type()), bits = typeLike(x, b.getI32Type());
  Value x64 = b.create<arith::ExtFOp>(wide, x);
  Value n = b.create<math::RoundEvenOp>(mul(b, x64, constantLike(b, 0.63661977236758134, x64)));
  Value back = b.create<arith::NegFOp>(n);
  Value r64 = fusedMultiplyAdd(b, back, constantLike(b, 1.5707963267948966, x64), x64);
  r64 = fusedMultiplyAdd(b, back, constantLike(b, 6.123233995736766e-17, x64), r64);
  // Larger arguments give the sine or cosine of some angle.
  r64 = maximum(b, constantLike(b, -1, r64), minimum(b, constantLike(b, 1, r64), r64));
  Value r = b.create<arith::TruncFOp>(x.getType(), r64);
  // The last two bits of n, which may have more than 32.
  Value fours = b.create<math::FloorOp>(mul(b, n, constantLike(b, 0.25, n)));
  Value quadrant = b.create<arith::FPToSIOp>(bits, sub(b, n, mul(b, fours, constantLike(b, 4, n))));
  if (cosine)
    quadrant = b.create<arith::AddIOp>(quadrant, b.integer(bits, 1));

  Value square = mul(b, r, r);
  Value sine = polynomial(b, square, {2.7183114939898219e-6, -1.9839334836096632e-4, 8.333329385889463e-3, -0.16666666641626524});
  sine = fusedMultiplyAdd(b, mul(b, sine, square), r, r);
  Value other = polynomial(b, square, {2.4390448796277409e-5, -1.388676377460993e-3, 4.1666623323739063e-2, -0.5, 1});

  auto bitSet = [&](int64_t bit) -> Value {
    Value masked = b.create<arith::AndIOp>(quadrant, b.integer(bits, bit));
    return b.create<arith::CmpIOp>(arith::CmpIPredicate::ne, masked, b.integer(bits, 0));
  };
  Value result = choose(b, bitSet(1), other, sine);
  return choose(b, bitSet(2), b.create<arith::NegFOp>(result), result);
}

/// erf(x) = x P(x²) / Q(x²), both of degree 5, fitted by their largest relative error (Lawson's algorithm: 1.9e-8) up to 3.92, where the
/// f32 nearest to erf is 1. All coefficients are positive: nothing cancels, and the result is within 7 ulp.
static Value errorFunction(CodeBuilder &b, Value x) {
  auto clamp = [&](Value value, double limit) { return maximum(b, constantLike(b, -limit, x), minimum(b, constantLike(b, limit, x), value)); };
  x = clamp(x, 3.92);
  Value square = mul(b, x, x);
  Value numerator = polynomial(
      b, square, {2.050079501714208e-06, 2.8482635389082134e-4, 3.764012362807989e-3, 0.05274365469813347, 0.19037193059921265, 1.1283791065216064});
  Value denominator = polynomial(b, square,
                                 {3.8088699511718005e-5, 1.1621096637099981e-3, 0.01496600080281496, 0.11409438401460648, 0.5020454525947571, 1});
  return clamp(b.create<arith::DivFOp>(mul(b, x, numerator), denominator), 1);
}

/// log2 of a positive normal f64: exponent plus 2/ln 2 artanh((m-1)/(m+1)), m in [√½, √2).
static Value log2Wide(CodeBuilder &b, Value x) {
  Type bits = typeLike(x, b.getI64Type());
  Value raw = b.create<arith::BitcastOp>(bits, x);
  // Subtracting the bits of √½ makes the exponent field count from there.
  Value offset = b.create<arith::SubIOp>(raw, b.integer(bits, 0x3FE6A09E667F3BCD));
  Value exponent = b.create<arith::ShRSIOp>(offset, b.integer(bits, 52));
  Value mantissa = b.create<arith::SubIOp>(raw, b.create<arith::ShLIOp>(exponent, b.integer(bits, 52)));
  Value m = b.create<arith::BitcastOp>(x.getType(), mantissa);
  Value one = constantLike(b, 1, x);
  Value t = b.create<arith::DivFOp>(sub(b, m, one), add(b, m, one));
  Value square = mul(b, t, t);
  SmallVector<double> series;
  for (int k = 8; k >= 0; --k)
    series.push_back(2.8853900817779268 / (2 * k + 1));
  Value log = mul(b, polynomial(b, square, series), t);
  Value narrow = b.create<arith::TruncIOp>(typeLike(x, b.getI32Type()), exponent);
  return add(b, log, b.create<arith::SIToFPOp>(x.getType(), narrow));
}

/// The exact remainder of a division that truncates: x is brought below y times a smaller and smaller power of two, in steps whose
/// quotients have so few bits that their product with y is exact in f64. The quotient of two f32 is below 2^277.
static Value remainder(CodeBuilder &b, Value x, Value y) {
  Type wide = typeLike(x, b.getF64Type());
  Value left = b.create<math::AbsFOp>(b.create<arith::ExtFOp>(wide, x)), size = b.create<math::AbsFOp>(b.create<arith::ExtFOp>(wide, y));
  constexpr int kBits = 29;
  for (int exponent = 277 / kBits * kBits; exponent >= 0; exponent -= kBits) {
    Value divisor = mul(b, size, constantLike(b, std::ldexp(1.0, exponent), size));
    Value whole = b.create<math::TruncOp>(b.create<arith::DivFOp>(left, divisor));
    Value less = sub(b, left, mul(b, whole, divisor));
    // A quotient just below an integer may have been rounded up to it.
    Value isBelow = b.create<arith::CmpFOp>(arith::CmpFPredicate::OLT, less, constantLike(b, 0, less));
    less = choose(b, isBelow, add(b, less, divisor), less);
    // Division by infinity leaves all.
    left = choose(b, b.create<arith::CmpFOp>(arith::CmpFPredicate::OLT, left, divisor), left, less);
  }
  return b.create<math::CopySignOp>(b.create<arith::TruncFOp>(x.getType(), left), x);
}

static constexpr double kLogOf2 = 0.69314718055994531; // the natural one

/// A logarithm by MLIR's polynomial, which takes denormal numbers for the least normal one: they are scaled first.
template <typename Op> static Value logarithm(CodeBuilder &b, Value x, double ofTwo) {
  Value isSmall = b.create<arith::CmpFOp>(arith::CmpFPredicate::OLT, x, constantLike(b, 0x1p-126, x));
  Value log = b.create<Op>(choose(b, isSmall, mul(b, x, constantLike(b, 0x1p24, x)), x));
  return choose(b, isSmall, sub(b, log, constantLike(b, 24 * ofTwo, x)), log);
}

/// 2^x of an f64, clamped to what an f32 can tell apart.
static Value exp2Wide(CodeBuilder &b, Value x) {
  x = maximum(b, constantLike(b, -200, x), minimum(b, constantLike(b, 200, x), x));
  Value n = b.create<math::RoundEvenOp>(x);
  Value r = mul(b, sub(b, x, n), constantLike(b, kLogOf2, x));
  SmallVector<double> series{1};
  for (int k = 1; k <= 9; ++k)
    series.push_back(series.back() / k);
  std::reverse(series.begin(), series.end());
  Type bits = typeLike(x, b.getI64Type());
  Value whole = b.create<arith::FPToSIOp>(typeLike(x, b.getI32Type()), n);
  Value biased = b.create<arith::AddIOp>(whole, b.integer(whole.getType(), 1023));
  Value factor = b.create<arith::ShLIOp>(b.create<arith::ExtSIOp>(bits, biased), b.integer(bits, 52));
  return mul(b, polynomial(b, r, series), b.create<arith::BitcastOp>(x.getType(), factor));
}

/// The scalar that all elements of `value` are, if it is a constant.
static std::optional<double> constantOf(Value value) {
  FloatAttr attr;
  DenseElementsAttr splat;
  if (matchPattern(value, m_Constant(&splat)) && splat.isSplat())
    attr = splat.getSplatValue<FloatAttr>();
  else
    matchPattern(value, m_Constant(&attr));
  return attr ? std::optional(attr.getValueAsDouble()) : std::nullopt;
}

/// x^e, if multiplications, divisions or a root are enough; else null.
static Value simplePower(CodeBuilder &b, Value x, double e) {
  if (e == 2 || e == 3)
    return e == 2 ? mul(b, x, x) : mul(b, mul(b, x, x), x);
  if (e == -1)
    return b.create<arith::DivFOp>(constantLike(b, 1, x), x);
  if (e != 0.5 && e != -0.5)
    return nullptr;
  // Unlike a root, a power of -0 is that of 0, and one of -infinity that of infinity.
  double infinity = std::numeric_limits<double>::infinity();
  Value isLeast = b.create<arith::CmpFOp>(arith::CmpFPredicate::OEQ, x, constantLike(b, -infinity, x));
  Value root = b.create<math::SqrtOp>(choose(b, isLeast, constantLike(b, infinity, x), add(b, x, constantLike(b, 0, x))));
  return e > 0 ? root : b.create<arith::DivFOp>(constantLike(b, 1, x), root).getResult();
}

/// x^y: in f64, since y log x loses as many bits as its integer part has.
static Value power(CodeBuilder &b, Value x, Value y) {
  if (auto exponent = constantOf(y))
    if (Value simple = simplePower(b, x, *exponent))
      return simple;
  Type wide = typeLike(x, b.getF64Type());
  auto compare = [&](arith::CmpFPredicate predicate, Value left, Value right) -> Value { return b.create<arith::CmpFOp>(predicate, left, right); };
  auto equal = [&](Value left, Value right) { return compare(arith::CmpFPredicate::OEQ, left, right); };
  Value zero = constantLike(b, 0, x), one = constantLike(b, 1, x), infinity = constantLike(b, std::numeric_limits<double>::infinity(), x);
  Value base = b.create<math::AbsFOp>(x), wideBase = b.create<arith::ExtFOp>(wide, base);
  // log2Wide is for normal numbers: the logarithm of infinity is infinity, that of 0 is -infinity, and NaN stays.
  Value log = log2Wide(b, wideBase);
  log = choose(b, equal(base, infinity), wideBase, log);
  log = choose(b, equal(base, zero), constantLike(b, -std::numeric_limits<double>::infinity(), log), log);
  log = choose(b, compare(arith::CmpFPredicate::UNO, base, base), wideBase, log);
  Value exponents = mul(b, b.create<arith::ExtFOp>(wide, y), log);
  Value result = b.create<arith::TruncFOp>(x.getType(), exp2Wide(b, exponents));
  // 1 has every power 1, also an infinite one.
  result = choose(b, equal(base, one), one, result);
  // Negative numbers have powers of integer exponents only, -infinity of all.
  Value negative = compare(arith::CmpFPredicate::OLT, x, zero), isWhole = equal(b.create<math::FloorOp>(y), y);
  Value half = mul(b, y, constantLike(b, 0.5, y)), isEven = equal(b.create<math::FloorOp>(half), half);
  Value nan = constantLike(b, std::numeric_limits<double>::quiet_NaN(), x);
  Value mirrored = choose(b, isEven, result, b.create<arith::NegFOp>(result));
  Value other = choose(b, equal(base, infinity), result, nan);
  result = choose(b, negative, choose(b, isWhole, mirrored, other), result);
  return choose(b, equal(y, zero), one, result);
}

/// Integer division that never traps, as lanes behind the last element hold anything: division by 0 gives 0, and what overflows
/// wraps.
static Value divide(CodeBuilder &b, Value x, Value y, bool remainder) {
  Value one = b.integer(x.getType(), 1);
  // By -1 and 0 the quotient is the product, and the remainder is 0.
  Value traps = b.create<arith::CmpIOp>(arith::CmpIPredicate::ule, b.create<arith::AddIOp>(y, one), one);
  Value divisor = choose(b, traps, one, y);
  if (remainder)
    return b.create<arith::RemSIOp>(x, divisor);
  return choose(b, traps, b.create<arith::MulIOp>(x, y), b.create<arith::DivSIOp>(x, divisor));
}

/// The same for unsigned integers, rounding up, too.
static Value divideUnsigned(CodeBuilder &b, Operation *op, Value x, Value y) {
  Value zero = b.integer(x.getType(), 0), one = b.integer(x.getType(), 1);
  Value isZero = b.create<arith::CmpIOp>(arith::CmpIPredicate::eq, y, zero), divisor = choose(b, isZero, one, y);
  Value rest = isa<arith::DivUIOp>(op) ? Value() : b.create<arith::RemUIOp>(x, divisor);
  if (isa<arith::RemUIOp>(op))
    return rest;
  Value quotient = b.create<arith::DivUIOp>(x, divisor);
  if (rest) {
    Value isMore = b.create<arith::CmpIOp>(arith::CmpIPredicate::ne, rest, zero);
    quotient = b.create<arith::AddIOp>(quotient, choose(b, isMore, one, zero));
  }
  return choose(b, isZero, zero, quotient);
}

/// Integer division that rounds down, or up.
static Value divideRounding(CodeBuilder &b, Value x, Value y, bool up) {
  Type type = x.getType();
  Value zero = b.integer(type, 0);
  Value quotient = divide(b, x, y, /*remainder=*/false);
  Value rest = b.create<arith::SubIOp>(x, b.create<arith::MulIOp>(quotient, y));
  // Truncation went up where rest and divisor differ in sign, else down.
  auto wrongSign = up ? arith::CmpIPredicate::sge : arith::CmpIPredicate::slt;
  Value isWrong = b.create<arith::AndIOp>(b.create<arith::CmpIOp>(arith::CmpIPredicate::ne, rest, zero),
                                          b.create<arith::CmpIOp>(wrongSign, b.create<arith::XOrIOp>(rest, y), zero));
  isWrong = b.create<arith::AndIOp>(isWrong, b.create<arith::CmpIOp>(arith::CmpIPredicate::ne, y, zero));
  return choose(b, isWrong, b.create<arith::AddIOp>(quotient, b.integer(type, up ? 1 : -1)), quotient);
}

Value emitFunction(CodeBuilder &b, Operation *op, ValueRange operands) {
  if (isa<arith::FloorDivSIOp, arith::CeilDivSIOp>(op))
    return divideRounding(b, operands[0], operands[1], isa<arith::CeilDivSIOp>(op));
  if (isa<arith::DivSIOp, arith::RemSIOp>(op))
    return divide(b, operands[0], operands[1], isa<arith::RemSIOp>(op));
  if (isa<arith::DivUIOp, arith::RemUIOp, arith::CeilDivUIOp>(op))
    return divideUnsigned(b, op, operands[0], operands[1]);
  if (operands.empty() || !getElementTypeOrSelf(operands[0].getType()).isF32())
    return nullptr;
  Value x = operands[0];
  if (isa<math::SinOp>(op) || isa<math::CosOp>(op))
    return sineOrCosine(b, x, isa<math::CosOp>(op));
  if (isa<math::ErfOp>(op))
    return errorFunction(b, x);
  if (isa<math::TanOp>(op))
    return b.create<arith::DivFOp>(sineOrCosine(b, x, false), sineOrCosine(b, x, true));
  if (isa<math::PowFOp>(op))
    return power(b, x, operands[1]);
  if (isa<math::RsqrtOp>(op))
    return b.create<arith::DivFOp>(constantLike(b, 1, x), b.create<math::SqrtOp>(x));
  if (isa<math::Exp2Op>(op))
    return b.create<arith::TruncFOp>(x.getType(), exp2Wide(b, b.create<arith::ExtFOp>(typeLike(x, b.getF64Type()), x)));
  if (isa<math::Log10Op>(op))
    return mul(b, logarithm<math::LogOp>(b, x, kLogOf2), constantLike(b, 0.43429448190325182, x));
  if (isa<math::LogOp>(op))
    return logarithm<math::LogOp>(b, x, kLogOf2);
  if (isa<math::Log2Op>(op))
    return logarithm<math::Log2Op>(b, x, 1);
  if (isa<math::RoundOp>(op)) {
    // The largest number below a half, so that numbers just below one are not rounded up.
    Value half = b.create<math::CopySignOp>(constantLike(b, 0.49999997019767761, x), x);
    return b.create<math::TruncOp>(add(b, x, half));
  }
  if (isa<arith::RemFOp>(op))
    return remainder(b, x, operands[1]);
  if (isa<math::FmaOp>(op))
    return fusedMultiplyAdd(b, x, operands[1], operands[2]);
  return nullptr;
}

} // namespace xf::codegen
