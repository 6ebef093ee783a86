#include "compiler/Target/CPU/ChooseScreen.h"

#include "compiler/Target/CPU/Chunks.h"
#include "compiler/Target/VectorMath.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;
using mlir::xf::ChooseOp;
using mlir::xf::QuantizeOp;
using mlir::xf::ReduceKind;

namespace xf::cpu {

/// Bytes of rows are unsigned, as the instructions want them.
static constexpr int64_t kZeroPoint = 128;
/// Rows whose largest element is not between these have no bounds: squares would leave the range of f32.
static constexpr double kMinMagnitude = 0x1p-30, kMaxMagnitude = 0x1p50;
/// Makes up for the roundings of the bounds themselves.
static constexpr double kMargin = 1.001;
/// Products that underflow in f32 count as 0; this is more than all of a row's together.
static constexpr double kTiny = 1e-30;

/// The operands of `op` that are quantised to `factor`.
static OperandRange screenOf(ChooseOp op, Factor factor) { return factor == Factor::i8 ? op.getScreen() : op.getWords(); }

ChooseScreen::ChooseScreen(KernelBuilder &b, ChooseOp op, Factor factor, Value firstRow, Value rowStride)
    : b(b), depth(cast<RankedTensorType>(op.getWeight().getType()).getDimSize(1)),
      paddedPanels(llvm::alignTo(llvm::divideCeil(op.getColumns(), kLanes), kLanes)),
      rowWords(llvm::alignTo(depth * (factor == Factor::i8 ? 1 : 2), 64) / 4), firstRow(firstRow), rowStride(rowStride),
      factors_{
          WeightPanels(factor == Factor::i8 ? Type(b.getI8Type()) : Type(b.getI16Type()), cast<RankedTensorType>(screenOf(op, factor)[0].getType())),
          ChooseLogits::firstExtra + screenOf(op, factor).getBeginOperandIndex() - op.getExtras().getBeginOperandIndex(), nullptr,
          b.mul(rowStride, factor == Factor::i8 ? 4 : 2)} {
  factors_.x = integersOf(b.i64(0));
  scales = factors_.view + 1, sums = factors_.view + 2;
  lengths = factors_.view + (isBytes() ? 3 : 2), errors = lengths + 1, mean = lengths + 2;
}

Value ChooseScreen::load(const ChooseFactors &exact, Value row, Value offset, Value lanes) {
  Type element = exact.weight.rowType;
  Value x = b.loadVector(element, b.at(exact.x, b.add(b.mul(row, exact.rowStride), offset), element), lanes);
  return element.isF32() ? x : widenFromBF16(b, x);
}

Value ChooseScreen::scaleOf(Value largest, Value length) {
  auto times = [&](Value x, double factor) { return b.create<arith::MulFOp>(x, b.f32(factor)); };
  if (isBytes())
    return times(largest, 1 / 127.0);
  // Rounded up, so that no sum leaves 32 bits.
  return maximum(b, times(largest, 1.0001 / QuantizeOp::kMaxInt16), times(length, 1 / QuantizeOp::kMaxRowNorm));
}

static Value square(CodeBuilder &b, Value x, Value sum) { return fusedMultiplyAdd(b, x, x, sum); }

ChooseScreen::Source ChooseScreen::measure(const ChooseFactors &exact, Value row) {
  Value zeros = b.splatF32(0);
  auto seen = forChunks(b, b.i64(depth), {zeros, zeros}, [&](Value offset, Value lanes, ValueRange carried) {
    Value x = load(exact, row, offset, lanes);
    return SmallVector<Value>{maximum(b, b.create<math::AbsFOp>(x), carried[0]), square(b, x, carried[1])};
  });
  Value largest = reduceLanes(b, ReduceKind::max, seen[0]), squares = reduceLanes(b, ReduceKind::sum, seen[1]);
  auto holds = [&](arith::CmpFPredicate predicate, Value x, double y) { return b.create<arith::CmpFOp>(predicate, x, b.f32(y)); };
  Source source{exact, row};
  source.hasBounds = b.both(holds(arith::CmpFPredicate::OGT, largest, kMinMagnitude), holds(arith::CmpFPredicate::OLT, largest, kMaxMagnitude));
  // An element that is NaN makes `squares` NaN.
  source.hasBounds = b.both(source.hasBounds, holds(arith::CmpFPredicate::ORD, squares, 0));
  source.length = b.create<math::SqrtOp>(squares);
  source.divisor = scaleOf(ifBounded(source, largest, b.f32(1)), ifBounded(source, source.length, b.f32(1)));
  source.reciprocals = b.splat(b.create<arith::DivFOp>(b.f32(1), source.divisor));
  source.integers = integersOf(row);
  source.areBounded = b.splat(source.hasBounds);
  return source;
}

std::pair<Value, Value> ChooseScreen::integersAt(const Source &source, Value offset, Value lanes) {
  Value x = b.create<arith::SelectOp>(source.areBounded, load(source.exact, source.row, offset, lanes), b.splatF32(0));
  return {x, b.create<math::RoundEvenOp>(b.create<arith::MulFOp>(x, source.reciprocals))};
}

Value ChooseScreen::storeIntegers(const Source &source) {
  Value zeros = b.splatF32(0);
  Type element = factors_.weight.rowType;
  auto products = forChunks(b, b.i64(depth), {zeros, zeros}, [&](Value offset, Value lanes, ValueRange carried) {
    auto [x, whole] = integersAt(source, offset, lanes);
    Value integer = b.create<arith::FPToSIOp>(b.vectorOf(b.getI32Type()), whole);
    if (isBytes())
      integer = b.create<arith::AddIOp>(integer, b.splat(b.i32(kZeroPoint)));
    b.storeVector(b.create<arith::TruncIOp>(b.vectorOf(element), integer), b.at(source.integers, offset, element), lanes);
    return SmallVector<Value>{fusedMultiplyAdd(b, x, whole, carried[0]), square(b, whole, carried[1])};
  });
  // The multiple of the integers that is nearest to the row: the error is orthogonal to it. Likely columns lie in the row's direction,
  // and an error in that direction would be common to them all.
  Value nearest = b.create<arith::DivFOp>(reduceLanes(b, ReduceKind::sum, products[0]), reduceLanes(b, ReduceKind::sum, products[1]));
  return ifBounded(source, nearest, source.divisor);
}

std::pair<Value, Value> ChooseScreen::measureError(const Source &source, Value scale) {
  Value zeros = b.splatF32(0);
  auto lost = forChunks(b, b.i64(depth), {zeros, zeros}, [&](Value offset, Value lanes, ValueRange carried) {
    auto [x, whole] = integersAt(source, offset, lanes);
    Value error = fusedMultiplyAdd(b, b.create<arith::NegFOp>(whole), b.splat(scale), x);
    Value ofMean = fusedMultiplyAdd(b, error, ofColumns(mean, b.getF32Type(), offset, lanes), carried[1]);
    return SmallVector<Value>{square(b, error, carried[0]), ofMean};
  });
  Value length = b.create<math::SqrtOp>(reduceLanes(b, ReduceKind::sum, lost[0]));
  return {length, lost[1]};
}

void ChooseScreen::quantize(const ChooseFactors &exact, Value row) {
  Source source = measure(exact, row);
  Value ownScale = storeIntegers(source);
  auto [error, withMean] = measureError(source, ownScale);
  double roundings = (depth + 16) * 0x1p-23;
  // |w| is multiplied by |e| and the roundings, |f| by |x| + |e|.
  Value byLength = fusedMultiplyAdd(b, source.length, b.f32(roundings), error), byError = b.create<arith::AddFOp>(source.length, error);
  Value infinity = b.f32(std::numeric_limits<double>::infinity());
  auto withMargin = [&](Value x) { return ifBounded(source, b.create<arith::MulFOp>(x, b.f32(kMargin)), infinity); };
  byLength = withMargin(byLength), byError = withMargin(byError);
  Value ofMean = reduceLanes(b, ReduceKind::sum, withMean);
  b.store(ownScale, scalarAt(row, scale));
  b.store(byLength, scalarAt(row, ofColumn));
  b.store(byError, scalarAt(row, ofError));
  b.store(ofMean, scalarAt(row, shift));
}

ChooseScreen::Row ChooseScreen::rowAt(Value row) {
  auto lanesOf = [&](Scalar scalar) { return b.splat(b.load(b.getF32Type(), scalarAt(row, scalar))); };
  return {lanesOf(scale), lanesOf(ofColumn), lanesOf(ofError), lanesOf(shift)};
}

Value ChooseScreen::ofColumns(unsigned view, Type element, Value column, Value lanes) {
  return b.loadVector(element, b.at(b.data(view), column, element), lanes);
}

ChooseScreen::Estimates ChooseScreen::estimate(const Row &row, Value column, Value lanes, Value products) {
  Type f32 = b.getF32Type(), i32 = b.getI32Type();
  if (isBytes()) {
    Value zeroPoint = b.splat(b.i32(kZeroPoint));
    Value surplus = b.create<arith::MulIOp>(ofColumns(sums, i32, column, lanes), zeroPoint);
    products = b.create<arith::SubIOp>(products, surplus);
  }
  Value whole = b.create<arith::SIToFPOp>(b.vectorOf(f32), products);
  Value error = fusedMultiplyAdd(b, row.ofError, ofColumns(errors, f32, column, lanes), b.splatF32(kTiny));
  error = fusedMultiplyAdd(b, row.ofColumn, ofColumns(lengths, f32, column, lanes), error);
  Value scale = b.create<arith::MulFOp>(row.scale, ofColumns(scales, f32, column, lanes));
  return {fusedMultiplyAdd(b, whole, scale, row.shift), fusedMultiplyAdd(b, whole, scale, error)};
}

} // namespace xf::cpu
