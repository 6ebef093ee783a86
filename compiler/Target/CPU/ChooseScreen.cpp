#include "compiler/Target/CPU/ChooseScreen.h"

#include "compiler/Target/CPU/Chunks.h"
#include "compiler/Target/CPU/VectorMath.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;
using mlir::xf::ChooseOp;
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

ChooseScreen::ChooseScreen(KernelBuilder &b, ChooseOp op, Value firstRow, Value rowStride)
    : b(b), firstView(ChooseLogits::firstExtra + op.getExtras().size()),
      depth(cast<RankedTensorType>(op.getWeight().getType()).getDimSize(1)),
      paddedPanels(llvm::alignTo(llvm::divideCeil(op.getColumns(), kLanes), kLanes)), firstRow(firstRow), rowStride(rowStride),
      factors_{WeightPanels(b.getI8Type(), cast<RankedTensorType>(op.getScreen()[bytes].getType())), firstView + bytes, nullptr,
               b.mul(rowStride, sizeof(float))} {
  factors_.x = bytesOf(b.i64(0));
}

Value ChooseScreen::load(const ChooseFactors &exact, Value row, Value offset, Value lanes) {
  Type element = exact.weight.rowType;
  Value x = b.loadVector(element, b.at(exact.x, b.add(b.mul(row, exact.rowStride), offset), element), lanes);
  return element.isF32() ? x : widenFromBF16(b, x);
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
  Value divisor = ifBounded(largest, b.f32(1));
  Value scale = b.create<arith::MulFOp>(divisor, b.f32(1 / 127.0)), reciprocal = b.splat(b.create<arith::DivFOp>(b.f32(127), divisor));
  Value target = bytesOf(row), isBounded = b.splat(hasBounds);
  Value lost = forChunks(b, length, zeros, [&](Value offset, Value lanes, ValueRange carried) {
    Value x = b.create<arith::SelectOp>(isBounded, load(exact, row, offset, lanes), zeros);
    Value whole = b.create<math::RoundEvenOp>(b.create<arith::MulFOp>(x, reciprocal));
    Value number = b.create<arith::FPToSIOp>(b.vectorOf(b.getI32Type()), whole);
    Value zeroPoint = b.splat(b.create<arith::ConstantIntOp>(b.getI32Type(), kZeroPoint));
    Value byte = b.create<arith::TruncIOp>(b.vectorOf(b.getI8Type()), b.create<arith::AddIOp>(number, zeroPoint));
    b.storeVector(byte, b.at(target, offset, b.getI8Type()), lanes);
    Value error = fusedMultiplyAdd(b, b.create<arith::NegFOp>(whole), b.splat(scale), x);
    return SmallVector<Value>{square(error, carried[0])};
  })[0];
  Value size = b.create<math::SqrtOp>(squares), error = b.create<math::SqrtOp>(reduceLanes(b, ReduceKind::sum, lost));
  double roundings = (depth + 16) * 0x1p-23;
  Value ofColumn = fusedMultiplyAdd(b, size, b.f32(roundings), error), ofError = b.create<arith::AddFOp>(size, error);
  Value infinity = b.f32(std::numeric_limits<double>::infinity());
  Value scalars[] = {scale, ifBounded(b.create<arith::MulFOp>(ofColumn, b.f32(kMargin)), infinity),
                     ifBounded(b.create<arith::MulFOp>(ofError, b.f32(kMargin)), infinity)};
  for (auto [i, scalar] : llvm::enumerate(scalars))
    b.store(scalar, b.at(scalarsOf(row), i, b.getF32Type()));
}

ChooseScreen::Row ChooseScreen::rowAt(Value number) {
  auto scalar = [&](int64_t i) { return b.splat(b.load(b.getF32Type(), b.at(scalarsOf(number), i, b.getF32Type()))); };
  return {scalar(0), scalar(1), scalar(2)};
}

Value ChooseScreen::ofColumns(Part part, Value column, Value lanes) {
  Type element = part == sums ? Type(b.getI32Type()) : Type(b.getF32Type());
  return b.loadVector(element, b.at(b.data(firstView + part), column, element), lanes);
}

Value ChooseScreen::boundOf(const Row &row, Value column, Value lanes, Value products) {
  Value zeroPoint = b.splat(b.create<arith::ConstantIntOp>(b.getI32Type(), kZeroPoint));
  Value surplus = b.create<arith::MulIOp>(ofColumns(sums, column, lanes), zeroPoint);
  Value exact = b.create<arith::SIToFPOp>(b.vectorOf(b.getF32Type()), b.create<arith::SubIOp>(products, surplus));
  Value error = fusedMultiplyAdd(b, row.ofError, ofColumns(errors, column, lanes), b.splatF32(kTiny));
  error = fusedMultiplyAdd(b, row.ofColumn, ofColumns(lengths, column, lanes), error);
  return fusedMultiplyAdd(b, exact, b.create<arith::MulFOp>(row.scale, ofColumns(scales, column, lanes)), error);
}

} // namespace xf::cpu
