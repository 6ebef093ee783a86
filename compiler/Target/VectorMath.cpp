#include "compiler/Target/VectorMath.h"

using namespace mlir;
using mlir::xf::ReduceKind;

namespace xf::codegen {

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

Type typeLike(Value like, Type element) {
  auto vector = dyn_cast<VectorType>(like.getType());
  return vector ? vector.clone(element) : element;
}

Value multiplyAndRound(CodeBuilder &b, Value x, Value y) { return fusedMultiplyAdd(b, x, y, constantLike(b, kRoundingShift, x)); }

Value polynomial(CodeBuilder &b, Value x, ArrayRef<double> coefficients) {
  Value sum = constantLike(b, coefficients.front(), x);
  bool wide = getElementTypeOrSelf(x.getType()).isF64();
  for (double c : coefficients.drop_front()) {
    Value next = constantLike(b, c, x);
    sum = wide ? b.create<arith::AddFOp>(b.create<arith::MulFOp>(sum, x), next).getResult() : fusedMultiplyAdd(b, sum, x, next);
  }
  return sum;
}

namespace {
/// An integer n >= -126, and an f32 whose low bits are 2^n's exponent.
struct Exponent {
  Value n, shifted;
};
} // namespace

/// The integer nearest to x / ln 2.
static Exponent exponentOf(CodeBuilder &b, Value x) {
  Value shift = constantLike(b, kRoundingShift + 127, x);
  Value shifted = fusedMultiplyAdd(b, x, constantLike(b, 1.4426950408889634, x), shift);
  return {b.create<arith::SubFOp>(shifted, shift), shifted};
}

/// `significand` 2^n, but 0 where x is so low that this may be denormal: the same bits with the instruction for it and without.
static Value scaleByExponent(CodeBuilder &b, Value significand, const Exponent &exponent, Value x) {
  Value least = constantLike(b, -87.3, x), zero = constantLike(b, 0, x);
  if (hasAvx512(b.isa()) && x.getType() == b.vectorOf(b.getF32Type())) {
    Value isNormal = b.create<arith::CmpFOp>(arith::CmpFPredicate::UGE, x, least);
    Value lanes = b.create<LLVM::BitcastOp>(b.getI16Type(), isNormal), rounding = b.i32(4);
    return LLVM::CallIntrinsicOp::create(b, b.getLoc(), x.getType(), b.getStringAttr("llvm.x86.avx512.mask.scalef.ps.512"),
                                         ValueRange{significand, exponent.n, zero, lanes, rounding})
        ->getResult(0);
  }
  Type bits = typeLike(x, b.getI32Type());
  Value factor = b.create<arith::ShLIOp>(b.create<arith::BitcastOp>(bits, exponent.shifted), b.integer(bits, 23));
  // Multiplied, not added to the exponent: what is NaN stays so.
  Value scaled = b.create<arith::MulFOp>(significand, b.create<arith::BitcastOp>(x.getType(), factor));
  Value tiny = b.create<arith::CmpFOp>(arith::CmpFPredicate::OLT, x, least);
  return b.create<arith::SelectOp>(tiny, zero, scaled);
}

// exp(x) = 2^n exp(r), r = x - n ln 2 with ln 2 in two parts. exp(r) by a polynomial of degree 6 (Lawson's algorithm).
Value boundedExp(CodeBuilder &b, Value x) {
  Exponent exponent = exponentOf(b, x);
  Value r = fusedMultiplyAdd(b, exponent.n, constantLike(b, -0.693359375, x), x);
  r = fusedMultiplyAdd(b, exponent.n, constantLike(b, 2.12194440e-4, x), r);
  Value significand = polynomial(b, r,
                                 {0.0013814539415761828, 0.00836874544620514, 0.04166838899254799, 0.1666652113199234, 0.4999999403953552, 1, 1});
  return scaleByExponent(b, significand, exponent, x);
}

// 2^r, r = x / ln 2 - n, of degree 4 (Lawson's algorithm: 2.8e-6).
Value shortBoundedExp(CodeBuilder &b, Value x) {
  Exponent exponent = exponentOf(b, x);
  Value r = fusedMultiplyAdd(b, x, constantLike(b, 1.4426950408889634, x), b.create<arith::NegFOp>(exponent.n));
  Value significand = polynomial(b, r, {0.009583127684891224, 0.05590648949146271, 0.2402409166097641, 0.6931241750717163, 1});
  return scaleByExponent(b, significand, exponent, x);
}

/// In integers, as most instruction sets have no conversion.
static Value roundToBF16(CodeBuilder &b, Value x) {
  Type words = typeLike(x, b.getI32Type());
  Value bits = b.create<arith::BitcastOp>(words, x), sixteen = b.integer(words, 16);
  Value last = b.create<arith::AndIOp>(b.create<arith::ShRUIOp>(bits, sixteen), b.integer(words, 1));
  Value half = b.create<arith::AddIOp>(last, b.integer(words, 0x7fff));
  Value rounded = b.create<arith::AddIOp>(bits, half);
  Value isNaN = b.create<arith::CmpFOp>(arith::CmpFPredicate::UNO, x, x);
  Value quiet = b.create<arith::OrIOp>(bits, b.integer(words, 0x400000));
  Value upper = b.create<arith::ShRUIOp>(b.create<arith::SelectOp>(isNaN, quiet, rounded), sixteen);
  return b.create<arith::TruncIOp>(typeLike(x, b.getI16Type()), upper);
}

Value narrowToBF16(CodeBuilder &b, Value x) {
  if (b.isa() != Isa::avx512_bf16 || x.getType() != b.vectorOf(b.getF32Type()))
    return roundToBF16(b, x);
  auto narrow = LLVM::CallIntrinsicOp::create(b, b.getLoc(), b.vectorOf(b.getBF16Type()), b.getStringAttr("llvm.x86.avx512bf16.cvtneps2bf16.512"),
                                              ValueRange{x});
  return b.create<LLVM::BitcastOp>(b.vectorOf(b.getI16Type()), narrow->getResult(0));
}

Value widenFromBF16(CodeBuilder &b, Value bits) {
  Type words = typeLike(bits, b.getI32Type());
  Value upper = b.create<arith::ShLIOp>(b.create<arith::ExtUIOp>(words, bits), b.integer(words, 16));
  return b.create<arith::BitcastOp>(typeLike(bits, b.getF32Type()), upper);
}

// Only GPUs have f16, and no vectors. LLVM does not look through these intrinsics: it would turn casts into arithmetic in f16, which
// gives the same bits but takes more instructions than the casts, as f32 is needed elsewhere.
Value narrowToF16(CodeBuilder &b, Value x) {
  return LLVM::CallIntrinsicOp::create(b, b.getLoc(), b.getI16Type(), b.getStringAttr("llvm.convert.to.fp16.f32"), x).getResult(0);
}

Value widenFromF16(CodeBuilder &b, Value bits) {
  return LLVM::CallIntrinsicOp::create(b, b.getLoc(), b.getF32Type(), b.getStringAttr("llvm.convert.from.fp16.f32"), bits).getResult(0);
}

Value narrowTo(CodeBuilder &b, Value x, Type element) { return element.isBF16() ? narrowToBF16(b, x) : narrowToF16(b, x); }
Value widenFrom(CodeBuilder &b, Value bits, Type element) { return element.isBF16() ? widenFromBF16(b, bits) : widenFromF16(b, bits); }

Value combine(CodeBuilder &b, ReduceKind kind, Value value, Value running) {
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(value.getType()));
  if (kind == ReduceKind::sum)
    return isFloat ? b.create<arith::AddFOp>(running, value).getResult() : b.create<arith::AddIOp>(running, value).getResult();
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

Value lanesOf(CodeBuilder &b, Value vector, int64_t first, int64_t count) {
  return b.create<vector::ShuffleOp>(vector, vector, llvm::to_vector(llvm::seq<int64_t>(first, first + count)));
}

Value reduceLanes(CodeBuilder &b, Value vector, llvm::function_ref<Value(Value, Value)> combine) {
  for (int64_t distance = kLanes / 2; distance >= 1; distance /= 2) {
    Value low = lanesOf(b, vector, 0, distance), high = lanesOf(b, vector, distance, distance);
    vector = combine(high, low);
  }
  return b.create<vector::ExtractOp>(vector, 0);
}

Value reduceLanes(CodeBuilder &b, ReduceKind kind, Value vector) {
  return reduceLanes(b, vector, [&](Value high, Value low) { return combine(b, kind, high, low); });
}

Value foldLanes(CodeBuilder &b, ReduceKind kind, Value vector) {
  return combine(b, kind, lanesOf(b, vector, kLanes / 2, kLanes / 2), lanesOf(b, vector, 0, kLanes / 2));
}

Value reduceLanesOfEight(CodeBuilder &b, ReduceKind kind, ArrayRef<Value> vectors) {
  // At each distance the lower and the upper halves of what is left of each vector are put together, from two vectors in turn.
  SmallVector<Value> parts(vectors);
  for (int64_t distance = vectors.size(); distance >= 1; distance /= 2) {
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

} // namespace xf::codegen
