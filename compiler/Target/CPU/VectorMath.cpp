#include "compiler/Target/CPU/VectorMath.h"

#include <cmath>

using namespace mlir;
using mlir::xf::ReduceKind;

namespace xf::cpu {

Value fusedMultiplyAdd(CodeBuilder &b, Value x, Value y, Value z) {
  if (b.isa() != Isa::baseline)
    return b.create<math::FmaOp>(x, y, z);
  return b.create<arith::AddFOp>(b.create<arith::MulFOp>(x, y), z);
}

// A comparison and a choice in just this form are x86's max and min.
Value maximum(CodeBuilder &b, Value x, Value y) {
  Value greater = b.create<arith::CmpFOp>(arith::CmpFPredicate::OGT, x, y);
  return b.create<arith::SelectOp>(greater, x, y);
}
Value minimum(CodeBuilder &b, Value x, Value y) {
  Value less = b.create<arith::CmpFOp>(arith::CmpFPredicate::OLT, x, y);
  return b.create<arith::SelectOp>(less, x, y);
}

/// `value` in the type of `like`.
static Value constantLike(CodeBuilder &b, double value, Value like) {
  Type type = like.getType();
  TypedAttr attr = b.getFloatAttr(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, attr);
  return b.create<arith::ConstantOp>(attr);
}
static Value integerLike(CodeBuilder &b, int64_t value, Type type) {
  TypedAttr attr = b.getIntegerAttr(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, attr);
  return b.create<arith::ConstantOp>(attr);
}
/// The type of `like` with another element.
static Type typeLike(Value like, Type element) {
  auto vector = dyn_cast<VectorType>(like.getType());
  return vector ? vector.clone(element) : element;
}
static Value add(CodeBuilder &b, Value x, Value y) { return b.create<arith::AddFOp>(x, y); }
static Value sub(CodeBuilder &b, Value x, Value y) { return b.create<arith::SubFOp>(x, y); }
static Value mul(CodeBuilder &b, Value x, Value y) { return b.create<arith::MulFOp>(x, y); }
static Value choose(CodeBuilder &b, Value condition, Value x, Value y) {
  return b.create<arith::SelectOp>(condition, x, y);
}

Value multiplyAndRound(CodeBuilder &b, Value x, Value y) { return fusedMultiplyAdd(b, x, y, constantLike(b, kRoundingShift, x)); }

/// Horner's scheme, coefficients from the highest down; f64 without fused operations.
static Value polynomial(CodeBuilder &b, Value x, ArrayRef<double> coefficients) {
  Value sum = constantLike(b, coefficients.front(), x);
  bool wide = getElementTypeOrSelf(x.getType()).isF64();
  for (double c : coefficients.drop_front()) {
    Value next = constantLike(b, c, x);
    sum = wide ? add(b, mul(b, sum, x), next) : fusedMultiplyAdd(b, sum, x, next);
  }
  return sum;
}

namespace {
/// A whole number n >= -126, and a number whose low bits are those of 2^n's exponent.
struct Exponent {
  Value n, shifted;
};
} // namespace

/// The whole number next to x / ln 2.
static Exponent exponentOf(CodeBuilder &b, Value x) {
  Value shift = constantLike(b, kRoundingShift + 127, x);
  Value shifted = fusedMultiplyAdd(b, x, constantLike(b, 1.4426950408889634, x), shift);
  return {sub(b, shifted, shift), shifted};
}

/// `power` 2^n, but 0 where x is so low that this may be no normal number: the same bits with the instruction for it and without.
static Value scalePower(CodeBuilder &b, Value power, const Exponent &exponent, Value x) {
  Value least = constantLike(b, -87.3, x), zero = constantLike(b, 0, x);
  if (hasAvx512(b.isa()) && x.getType() == b.vectorOf(b.getF32Type())) {
    Value isNormal = b.create<arith::CmpFOp>(arith::CmpFPredicate::UGE, x, least);
    Value lanes = b.create<LLVM::BitcastOp>(b.getI16Type(), isNormal), rounding = b.create<arith::ConstantIntOp>(b.getI32Type(), 4);
    return LLVM::CallIntrinsicOp::create(b, b.getLoc(), x.getType(), b.getStringAttr("llvm.x86.avx512.mask.scalef.ps.512"),
                                         ValueRange{power, exponent.n, zero, lanes, rounding})
        ->getResult(0);
  }
  Type bits = typeLike(x, b.getI32Type());
  Value factor = b.create<arith::ShLIOp>(b.create<arith::BitcastOp>(bits, exponent.shifted), integerLike(b, 23, bits));
  // Multiplied, not added to the exponent: what is NaN stays so.
  Value scaled = mul(b, power, b.create<arith::BitcastOp>(x.getType(), factor));
  Value tiny = b.create<arith::CmpFOp>(arith::CmpFPredicate::OLT, x, least);
  return choose(b, tiny, zero, scaled);
}

// exp(x) = 2^n exp(r), r = x - n ln 2 with ln 2 in two parts. exp(r) by a polynomial of degree 6 (Lawson's algorithm).
Value expOfNegative(CodeBuilder &b, Value x) {
  Exponent exponent = exponentOf(b, x);
  Value r = fusedMultiplyAdd(b, exponent.n, constantLike(b, -0.693359375, x), x);
  r = fusedMultiplyAdd(b, exponent.n, constantLike(b, 2.12194440e-4, x), r);
  Value power = polynomial(
      b, r, {0.0013814539415761828, 0.00836874544620514, 0.04166838899254799, 0.1666652113199234, 0.4999999403953552, 1, 1});
  return scalePower(b, power, exponent, x);
}

// 2^r, r = x / ln 2 - n, of degree 4 (Lawson's algorithm: 2.8e-6).
Value shortExpOfNegative(CodeBuilder &b, Value x) {
  Exponent exponent = exponentOf(b, x);
  Value r = fusedMultiplyAdd(b, x, constantLike(b, 1.4426950408889634, x), b.create<arith::NegFOp>(exponent.n));
  Value power = polynomial(b, r, {0.009583127684891224, 0.05590648949146271, 0.2402409166097641, 0.6931241750717163, 1});
  return scalePower(b, power, exponent, x);
}

/// In integers, as most instruction sets have no conversion.
static Value roundToBF16(CodeBuilder &b, Value x) {
  Type words = typeLike(x, b.getI32Type());
  Value bits = b.create<arith::BitcastOp>(words, x), sixteen = integerLike(b, 16, words);
  Value last = b.create<arith::AndIOp>(b.create<arith::ShRUIOp>(bits, sixteen), integerLike(b, 1, words));
  Value half = b.create<arith::AddIOp>(last, integerLike(b, 0x7fff, words));
  Value rounded = b.create<arith::AddIOp>(bits, half);
  Value isNaN = b.create<arith::CmpFOp>(arith::CmpFPredicate::UNO, x, x);
  Value quiet = b.create<arith::OrIOp>(bits, integerLike(b, 0x400000, words));
  Value upper = b.create<arith::ShRUIOp>(choose(b, isNaN, quiet, rounded), sixteen);
  return b.create<arith::TruncIOp>(typeLike(x, b.getI16Type()), upper);
}

Value narrowToBF16(CodeBuilder &b, Value x) {
  if (b.isa() != Isa::avx512_bf16 || x.getType() != b.vectorOf(b.getF32Type()))
    return roundToBF16(b, x);
  auto narrow = LLVM::CallIntrinsicOp::create(b, b.getLoc(), b.vectorOf(b.getBF16Type()), b.getStringAttr("llvm.x86.avx512bf16.cvtneps2bf16.512"), ValueRange{x});
  return b.create<LLVM::BitcastOp>(b.vectorOf(b.getI16Type()), narrow->getResult(0));
}

Value widenFromBF16(CodeBuilder &b, Value bits) {
  Type words = typeLike(bits, b.getI32Type());
  Value upper = b.create<arith::ShLIOp>(b.create<arith::ExtUIOp>(words, bits), integerLike(b, 16, words));
  return b.create<arith::BitcastOp>(typeLike(bits, b.getF32Type()), upper);
}

// GPUs alone have f16, and no vectors. LLVM does not look through these functions: of casts it would make arithmetic in f16, which
// gives the same bits but takes more instructions than the casts, as f32 is needed elsewhere.
Value narrowToF16(CodeBuilder &b, Value x) {
  return LLVM::CallIntrinsicOp::create(b, b.getLoc(), b.getI16Type(), b.getStringAttr("llvm.convert.to.fp16.f32"), x).getResult(0);
}

Value widenFromF16(CodeBuilder &b, Value bits) {
  return LLVM::CallIntrinsicOp::create(b, b.getLoc(), b.getF32Type(), b.getStringAttr("llvm.convert.from.fp16.f32"), bits).getResult(0);
}

Value narrowTo(CodeBuilder &b, Value x, Type element) { return element.isBF16() ? narrowToBF16(b, x) : narrowToF16(b, x); }
Value widenFrom(CodeBuilder &b, Value bits, Type element) {
  return element.isBF16() ? widenFromBF16(b, bits) : widenFromF16(b, bits);
}

Value combine(CodeBuilder &b, ReduceKind kind, Value value, Value running) {
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(value.getType()));
  if (kind == ReduceKind::sum)
    return isFloat ? b.create<arith::AddFOp>(running, value).getResult()
                   : b.create<arith::AddIOp>(running, value).getResult();
  return isFloat ? maximum(b, value, running) : b.create<arith::MaxSIOp>(running, value).getResult();
}

Value identity(CodeBuilder &b, ReduceKind kind, Type element) {
  TypedAttr attr = b.getZeroAttr(element);
  if (kind == ReduceKind::max && isa<FloatType>(element))
    attr = b.getFloatAttr(element, -std::numeric_limits<double>::infinity());
  else if (kind == ReduceKind::max)
    attr = b.getIntegerAttr(element, llvm::APInt::getSignedMinValue(element.getIntOrFloatBitWidth()));
  return b.create<arith::ConstantOp>(attr);
}

Value reduceLanes(CodeBuilder &b, Value vector, llvm::function_ref<Value(Value, Value)> combine) {
  for (int64_t distance = kLanes / 2; distance >= 1; distance /= 2) {
    Value low = b.create<vector::ExtractStridedSliceOp>(vector, ArrayRef<int64_t>{0}, ArrayRef<int64_t>{distance},
                                                        ArrayRef<int64_t>{1});
    Value high = b.create<vector::ExtractStridedSliceOp>(vector, ArrayRef<int64_t>{distance},
                                                         ArrayRef<int64_t>{distance}, ArrayRef<int64_t>{1});
    vector = combine(high, low);
  }
  return b.create<vector::ExtractOp>(vector, 0);
}

Value reduceLanes(CodeBuilder &b, ReduceKind kind, Value vector) {
  return reduceLanes(b, vector, [&](Value high, Value low) { return combine(b, kind, high, low); });
}

Value reduceLanesOfEight(CodeBuilder &b, ReduceKind kind, ArrayRef<Value> vectors) {
  // At each distance the lower and the upper halves of what is left of each vector are put together, from two vectors in turn.
  SmallVector<Value> parts(vectors);
  for (int64_t distance = kLanes / 2; distance >= 1; distance /= 2) {
    SmallVector<int64_t> low;
    for (int64_t lane = 0; lane < (parts.size() > 1 ? 2 : 1) * kLanes; ++lane)
      if (lane % (2 * distance) < distance)
        low.push_back(lane);
    auto high = llvm::map_to_vector(low, [&](int64_t lane) { return lane + distance; });
    SmallVector<Value> next;
    for (size_t i = 0; i < parts.size(); i += 2) {
      Value first = parts[i], second = parts[std::min(i + 1, parts.size() - 1)];
      next.push_back(combine(b, kind, b.create<vector::ShuffleOp>(first, second, high), b.create<vector::ShuffleOp>(first, second, low)));
    }
    parts = std::move(next);
  }
  return parts[0];
}

/// sin or cos. The argument is brought to [-π/4, π/4] in f64, where no position times frequency loses anything (where operations are fused,
/// no f32 below 2^53).
static Value sineOrCosine(CodeBuilder &b, Value x, bool cosine) {
  Type wide = typeLike(x, b.getF64Type()), bits = typeLike(x, b.getI32Type());
  Value x64 = b.create<arith::ExtFOp>(wide, x);
  Value n = b.create<math::RoundEvenOp>(mul(b, x64, constantLike(b, 0.63661977236758134, x64)));
  Value back = b.create<arith::NegFOp>(n);
  Value r64 = fusedMultiplyAdd(b, back, constantLike(b, 1.5707963267948966, x64), x64);
  r64 = fusedMultiplyAdd(b, back, constantLike(b, 6.123233995736766e-17, x64), r64);
  // Beyond, of some angle.
  r64 = maximum(b, constantLike(b, -1, r64), minimum(b, constantLike(b, 1, r64), r64));
  Value r = b.create<arith::TruncFOp>(x.getType(), r64);
  // Of n, which may have more than 32 bits, the last two.
  Value fours = b.create<math::FloorOp>(mul(b, n, constantLike(b, 0.25, n)));
  Value quadrant = b.create<arith::FPToSIOp>(bits, sub(b, n, mul(b, fours, constantLike(b, 4, n))));
  if (cosine)
    quadrant = b.create<arith::AddIOp>(quadrant, integerLike(b, 1, bits));

  Value square = mul(b, r, r);
  Value sine = polynomial(b, square, {2.7183114939898219e-6, -1.9839334836096632e-4, 8.333329385889463e-3, -0.16666666641626524});
  sine = fusedMultiplyAdd(b, mul(b, sine, square), r, r);
  Value other = polynomial(b, square, {2.4390448796277409e-5, -1.388676377460993e-3, 4.1666623323739063e-2, -0.5, 1});

  auto bitSet = [&](int64_t bit) -> Value {
    Value masked = b.create<arith::AndIOp>(quadrant, integerLike(b, bit, bits));
    return b.create<arith::CmpIOp>(arith::CmpIPredicate::ne, masked, integerLike(b, 0, bits));
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
  Value numerator = polynomial(b, square, {2.050079501714208e-06, 2.8482635389082134e-4, 3.764012362807989e-3, 0.05274365469813347, 0.19037193059921265, 1.1283791065216064});
  Value denominator = polynomial(b, square, {3.8088699511718005e-5, 1.1621096637099981e-3, 0.01496600080281496, 0.11409438401460648, 0.5020454525947571, 1});
  return clamp(b.create<arith::DivFOp>(mul(b, x, numerator), denominator), 1);
}

/// log2 of a positive normal f64: exponent plus 2/ln 2 artanh((m-1)/(m+1)), m in [√½, √2).
static Value log2Wide(CodeBuilder &b, Value x) {
  Type bits = typeLike(x, b.getI64Type());
  Value raw = b.create<arith::BitcastOp>(bits, x);
  // Subtracting the bits of √½ makes the exponent field count from there.
  Value offset = b.create<arith::SubIOp>(raw, integerLike(b, 0x3FE6A09E667F3BCD, bits));
  Value exponent = b.create<arith::ShRSIOp>(offset, integerLike(b, 52, bits));
  Value mantissa = b.create<arith::SubIOp>(raw, b.create<arith::ShLIOp>(exponent, integerLike(b, 52, bits)));
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

/// What a division that cuts its quotient off leaves, exactly: it is brought below y times a smaller and smaller power of two, in steps whose
/// quotients have so few bits that their product with y is an f64. The quotient of two f32 is below 2^277.
static Value remainder(CodeBuilder &b, Value x, Value y) {
  Type wide = typeLike(x, b.getF64Type());
  Value left = b.create<math::AbsFOp>(b.create<arith::ExtFOp>(wide, x)), size = b.create<math::AbsFOp>(b.create<arith::ExtFOp>(wide, y));
  constexpr int kBits = 29;
  for (int power = 277 / kBits * kBits; power >= 0; power -= kBits) {
    Value divisor = mul(b, size, constantLike(b, std::ldexp(1.0, power), size));
    Value whole = b.create<math::TruncOp>(b.create<arith::DivFOp>(left, divisor));
    Value less = sub(b, left, mul(b, whole, divisor));
    // A quotient just below a whole number may have been rounded to that.
    Value isBelow = b.create<arith::CmpFOp>(arith::CmpFPredicate::OLT, less, constantLike(b, 0, less));
    less = choose(b, isBelow, add(b, less, divisor), less);
    // Infinity leaves all.
    left = choose(b, b.create<arith::CmpFOp>(arith::CmpFPredicate::OLT, left, divisor), left, less);
  }
  return b.create<math::CopySignOp>(b.create<arith::TruncFOp>(x.getType(), left), x);
}

static constexpr double kLogOf2 = 0.69314718055994531; // the natural one

/// A logarithm by MLIR's polynomial, which takes numbers below the least normal one for that.
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
  Value biased = b.create<arith::AddIOp>(whole, integerLike(b, 1023, whole.getType()));
  Value factor = b.create<arith::ShLIOp>(b.create<arith::ExtSIOp>(bits, biased), integerLike(b, 52, bits));
  return mul(b, polynomial(b, r, series), b.create<arith::BitcastOp>(x.getType(), factor));
}

/// x^y: in f64, since y log x loses as many bits as it has before its point.
static Value power(CodeBuilder &b, Value x, Value y) {
  FloatAttr exponent;
  DenseElementsAttr splat;
  if (matchPattern(y, m_Constant(&splat)) && splat.isSplat())
    exponent = splat.getSplatValue<FloatAttr>();
  else
    matchPattern(y, m_Constant(&exponent));
  if (exponent) {
    double e = exponent.getValueAsDouble();
    if (e == 2 || e == 3)
      return e == 2 ? mul(b, x, x) : mul(b, mul(b, x, x), x);
    if (e == -1)
      return b.create<arith::DivFOp>(constantLike(b, 1, x), x);
    if (e == 0.5 || e == -0.5) {
      // Unlike a root, a power of -0 is that of 0, and one of -infinity that of infinity.
      double infinity = std::numeric_limits<double>::infinity();
      Value isLeast = b.create<arith::CmpFOp>(arith::CmpFPredicate::OEQ, x, constantLike(b, -infinity, x));
      Value root = b.create<math::SqrtOp>(choose(b, isLeast, constantLike(b, infinity, x), add(b, x, constantLike(b, 0, x))));
      return e > 0 ? root : b.create<arith::DivFOp>(constantLike(b, 1, x), root).getResult();
    }
  }
  Type wide = typeLike(x, b.getF64Type());
  auto compare = [&](arith::CmpFPredicate predicate, Value left, Value right) -> Value { return b.create<arith::CmpFOp>(predicate, left, right); };
  auto equal = [&](Value left, Value right) { return compare(arith::CmpFPredicate::OEQ, left, right); };
  Value zero = constantLike(b, 0, x), one = constantLike(b, 1, x), infinity = constantLike(b, std::numeric_limits<double>::infinity(), x);
  Value base = b.create<math::AbsFOp>(x), wideBase = b.create<arith::ExtFOp>(wide, base);
  // The bits of 0, infinities and NaN are no logarithms: those of their neighbours in the order of numbers, and NaN stays.
  Value log = log2Wide(b, wideBase);
  log = choose(b, equal(base, infinity), wideBase, log);
  log = choose(b, equal(base, zero), constantLike(b, -std::numeric_limits<double>::infinity(), log), log);
  log = choose(b, compare(arith::CmpFPredicate::UNO, base, base), wideBase, log);
  Value exponents = mul(b, b.create<arith::ExtFOp>(wide, y), log);
  Value result = b.create<arith::TruncFOp>(x.getType(), exp2Wide(b, exponents));
  // 1 has every power 1, also an infinite one.
  result = choose(b, equal(base, one), one, result);
  // Negative numbers: whole exponents only, of which those of an infinity have no bits behind the point.
  Value negative = compare(arith::CmpFPredicate::OLT, x, zero), isWhole = equal(b.create<math::FloorOp>(y), y);
  Value half = mul(b, y, constantLike(b, 0.5, y)), isEven = equal(b.create<math::FloorOp>(half), half);
  Value nan = constantLike(b, std::numeric_limits<double>::quiet_NaN(), x);
  Value mirrored = choose(b, isEven, result, b.create<arith::NegFOp>(result));
  Value other = choose(b, equal(base, infinity), result, nan);
  result = choose(b, negative, choose(b, isWhole, mirrored, other), result);
  return choose(b, equal(y, zero), one, result);
}

/// Integer division for every operand, where processors trap: by 0 it gives 0, and what overflows wraps. Lanes behind the last
/// element hold anything.
static Value divide(CodeBuilder &b, Value x, Value y, bool remainder) {
  Value one = integerLike(b, 1, x.getType());
  // Of -1 and 0 a multiplication gives the quotient, and nothing remains.
  Value traps = b.create<arith::CmpIOp>(arith::CmpIPredicate::ule, b.create<arith::AddIOp>(y, one), one);
  Value divisor = choose(b, traps, one, y);
  if (remainder)
    return b.create<arith::RemSIOp>(x, divisor);
  return choose(b, traps, b.create<arith::MulIOp>(x, y), b.create<arith::DivSIOp>(x, divisor));
}

/// The same of numbers without a sign.
static Value divideUnsigned(CodeBuilder &b, Operation *op, Value x, Value y) {
  Value zero = integerLike(b, 0, x.getType()), one = integerLike(b, 1, x.getType());
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
  Value zero = integerLike(b, 0, type);
  Value quotient = divide(b, x, y, /*remainder=*/false);
  Value rest = b.create<arith::SubIOp>(x, b.create<arith::MulIOp>(quotient, y));
  // Truncation went up where rest and divisor differ in sign, else down.
  auto wrongSign = up ? arith::CmpIPredicate::sge : arith::CmpIPredicate::slt;
  Value isWrong = b.create<arith::AndIOp>(
      b.create<arith::CmpIOp>(arith::CmpIPredicate::ne, rest, zero),
      b.create<arith::CmpIOp>(wrongSign, b.create<arith::XOrIOp>(rest, y), zero));
  isWrong = b.create<arith::AndIOp>(isWrong, b.create<arith::CmpIOp>(arith::CmpIPredicate::ne, y, zero));
  return choose(b, isWrong, b.create<arith::AddIOp>(quotient, integerLike(b, up ? 1 : -1, type)), quotient);
}

Value expandMath(CodeBuilder &b, Operation *op, ValueRange operands) {
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

} // namespace xf::cpu
