#include "compiler/Target/CPU/ChooseScreen.h"

#include "compiler/Target/CPU/Chunks.h"
#include "compiler/Target/CPU/VectorMath.h"

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
static constexpr double kLeast = 0x1p-30, kMost = 0x1p50;
/// Makes up for the roundings of the bounds themselves.
static constexpr double kMargin = 1.001;
/// Products that are too small for f32 count as 0; more than all of a row's.
static constexpr double kTiny = 1e-30;

/// The operands of `op` that are quantised to `factor`.
static OperandRange screenOf(ChooseOp op, Factor factor) { return factor == Factor::i8 ? op.getScreen() : op.getWords(); }

ChooseScreen::ChooseScreen(KernelBuilder &b, ChooseOp op, Factor factor, Value firstRow, Value rowStride)
    : b(b), depth(cast<RankedTensorType>(op.getWeight().getType()).getDimSize(1)),
      paddedPanels(llvm::alignTo(llvm::divideCeil(op.getColumns(), kLanes), kLanes)),
      rowWords(llvm::alignTo(depth * (factor == Factor::i8 ? 1 : 2), 64) / 4), firstRow(firstRow), rowStride(rowStride),
      factors_{WeightPanels(factor == Factor::i8 ? Type(b.getI8Type()) : Type(b.getI16Type()),
                            cast<RankedTensorType>(screenOf(op, factor)[0].getType())),
               ChooseLogits::firstExtra + screenOf(op, factor).getBeginOperandIndex() - op.getExtras().getBeginOperandIndex(), nullptr,
               b.mul(rowStride, factor == Factor::i8 ? 4 : 2)} {
  factors_.x = numbersOf(b.i64(0));
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
  return maximum(b, times(largest, 1.0001 / QuantizeOp::kLargestWord), times(length, 1 / QuantizeOp::kLongestRow));
}

void ChooseScreen::quantize(const ChooseFactors &exact, Value row) {
  Value zeros = b.splatF32(0), length = b.i64(depth);
  auto square = [&](Value x, Value sum) { return fusedMultiplyAdd(b, x, x, sum); };
  auto seen = forChunks(b, length, {zeros, zeros}, [&](Value offset, Value lanes, ValueRange carried) {
    Value x = load(exact, row, offset, lanes);
    return SmallVector<Value>{maximum(b, b.create<math::AbsFOp>(x), carried[0]), square(x, carried[1])};
  });
  Value largest = reduceLanes(b, ReduceKind::max, seen[0]), squares = reduceLanes(b, ReduceKind::sum, seen[1]);
  auto holds = [&](arith::CmpFPredicate predicate, Value x, double y) { return b.create<arith::CmpFOp>(predicate, x, b.f32(y)); };
  Value hasBounds = b.create<arith::AndIOp>(holds(arith::CmpFPredicate::OGT, largest, kLeast), holds(arith::CmpFPredicate::OLT, largest, kMost));
  // An element that is no number makes `squares` none.
  hasBounds = b.create<arith::AndIOp>(hasBounds, holds(arith::CmpFPredicate::ORD, squares, 0));
  auto ifBounded = [&](Value x, Value otherwise) { return b.create<arith::SelectOp>(hasBounds, x, otherwise); };
  Value size = b.create<math::SqrtOp>(squares), reach = scaleOf(ifBounded(largest, b.f32(1)), ifBounded(size, b.f32(1)));
  Value reciprocal = b.splat(b.create<arith::DivFOp>(b.f32(1), reach));
  Value target = numbersOf(row), isBounded = b.splat(hasBounds);
  Type element = factors_.weight.rowType;
  auto numberAt = [&](Value offset, Value lanes) {
    Value x = b.create<arith::SelectOp>(isBounded, load(exact, row, offset, lanes), zeros);
    return std::pair(x, b.create<math::RoundEvenOp>(b.create<arith::MulFOp>(x, reciprocal)).getResult());
  };
  auto products = forChunks(b, length, {zeros, zeros}, [&](Value offset, Value lanes, ValueRange carried) {
    auto [x, whole] = numberAt(offset, lanes);
    Value number = b.create<arith::FPToSIOp>(b.vectorOf(b.getI32Type()), whole);
    if (isBytes())
      number = b.create<arith::AddIOp>(number, b.splat(b.create<arith::ConstantIntOp>(b.getI32Type(), kZeroPoint)));
    b.storeVector(b.create<arith::TruncIOp>(b.vectorOf(element), number), b.at(target, offset, element), lanes);
    return SmallVector<Value>{fusedMultiplyAdd(b, x, whole, carried[0]), square(whole, carried[1])};
  });
  // Of all multiples of the numbers the nearest to the row: what is lost is orthogonal to it. Likely columns lie in the row's direction,
  // and an error there would be one that they have in common.
  Value scale = b.create<arith::DivFOp>(reduceLanes(b, ReduceKind::sum, products[0]), reduceLanes(b, ReduceKind::sum, products[1]));
  scale = ifBounded(scale, reach);
  auto lost = forChunks(b, length, {zeros, zeros}, [&](Value offset, Value lanes, ValueRange carried) {
    auto [x, whole] = numberAt(offset, lanes);
    Value error = fusedMultiplyAdd(b, b.create<arith::NegFOp>(whole), b.splat(scale), x);
    Value ofMean = fusedMultiplyAdd(b, error, ofColumns(mean, b.getF32Type(), offset, lanes), carried[1]);
    return SmallVector<Value>{square(error, carried[0]), ofMean};
  });
  Value error = b.create<math::SqrtOp>(reduceLanes(b, ReduceKind::sum, lost[0]));
  double roundings = (depth + 16) * 0x1p-23;
  Value ofColumn = fusedMultiplyAdd(b, size, b.f32(roundings), error), ofError = b.create<arith::AddFOp>(size, error);
  Value infinity = b.f32(std::numeric_limits<double>::infinity());
  Value scalars[] = {scale, ifBounded(b.create<arith::MulFOp>(ofColumn, b.f32(kMargin)), infinity),
                     ifBounded(b.create<arith::MulFOp>(ofError, b.f32(kMargin)), infinity),
                     reduceLanes(b, ReduceKind::sum, lost[1])};
  for (auto [i, scalar] : llvm::enumerate(scalars))
    b.store(scalar, b.at(scalarsOf(row), i, b.getF32Type()));
}

ChooseScreen::Row ChooseScreen::rowAt(Value number) {
  auto scalar = [&](int64_t i) { return b.splat(b.load(b.getF32Type(), b.at(scalarsOf(number), i, b.getF32Type()))); };
  return {scalar(0), scalar(1), scalar(2), scalar(3)};
}

Value ChooseScreen::ofColumns(unsigned view, Type element, Value column, Value lanes) {
  return b.loadVector(element, b.at(b.data(view), column, element), lanes);
}

ChooseScreen::Estimates ChooseScreen::estimate(const Row &row, Value column, Value lanes, Value products) {
  Type f32 = b.getF32Type(), i32 = b.getI32Type();
  if (isBytes()) {
    Value zeroPoint = b.splat(b.create<arith::ConstantIntOp>(i32, kZeroPoint));
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
