#include "compiler/Target/CPU/ChooseLogits.h"

#include "compiler/Target/RegionVectorizer.h"

#include <limits>

using namespace mlir;
using mlir::xf::ChooseOp;

namespace xf::cpu {

ChooseLogits::ChooseLogits(KernelBuilder &b, ChooseOp op, const KernelRequest &request)
    : b(b), op(op), access(request.access), axis(op.getAxis()), sumType_(op.getBody().getArgument(0).getType()), rows_(b.size(rowsView, 1 - axis)),
      last(b.sub(b.size(rowsView, axis), 1)), factors_{WeightPanels(op.getX(), op.getWeight()), weightView, nullptr, b.stride(rowsView, 1 - axis)},
      barred(b.stack(b.i64Type(), 2)) {
  factors_.x = b.at(b.data(rowsView), b.mul(last, b.stride(rowsView, axis)), factors_.weight.rowType);
}

void ChooseLogits::begin(Value block, Value end) {
  Type i64 = b.i64Type();
  block_ = block, end_ = end;
  panelCount_ = b.min(b.i64(kPanels), b.sub(b.i64(factors_.weight.panels), b.mul(block, kPanels)));
  Value stride = b.mul(b.stride(forbiddenView, 0), 4), start = b.mul(block, ChooseOp::kBlock / 8);
  auto bits = b.loop(b.i64(0), b.size(forbiddenView, 0), 1, {b.i64(-1), b.i64(-1)}, [&](Value i, ValueRange before) {
    Value words = b.at(b.data(forbiddenView), b.add(b.mul(i, stride), start), b.getI8Type());
    SmallVector<Value> both;
    for (int64_t half : {0, 1})
      both.push_back(b.create<arith::AndIOp>(before[half], b.create<LLVM::LoadOp>(i64, b.at(words, half, i64), 4)));
    return both;
  });
  for (int64_t half : {0, 1})
    b.store(bits[half], b.at(barred, half, i64));
  neededCount = b.accumulate(b.i64(0), panelCount_, 1, b.i64(0), [&](Value panel, Value count) {
    Value one = b.create<arith::ExtUIOp>(i64, panelIsNeeded(panel));
    return b.add(count, one);
  });
}

Value ChooseLogits::isNeeded() { return b.less(b.i64(0), neededCount); }

Value ChooseLogits::panelIsNeeded(Value panel) {
  Value bits = b.create<LLVM::LoadOp>(b.getI16Type(), b.at(barred, panel, b.getI16Type()));
  return b.create<arith::CmpIOp>(arith::CmpIPredicate::ne, bits, b.create<arith::ConstantIntOp>(b.getI16Type(), -1));
}

Value ChooseLogits::panelAddress(const ChooseFactors &factors, Value panel) {
  return b.at(b.data(factors.view), b.mul(panel, factors.weight.panelElements), factors.weight.type);
}

ProductOperands ChooseLogits::operands(const ChooseFactors &factors, Value firstRow, Value rowCount, Value panel, Value count) {
  return {.rows = rowCount,
          .a = b.at(factors.x, b.mul(firstRow, factors.rowStride), factors.weight.rowType),
          .lda = factors.rowStride,
          .b = panelAddress(factors, b.add(b.mul(block_, kPanels), panel)),
          .panelStride = b.i64(factors.weight.panelElements),
          .c = sumsOf(b.i64(0), panel),
          .ldc = b.i64(ChooseOp::kBlock),
          .depth = b.i64(factors.weight.wholeGroups),
          .panels = count};
}

void ChooseLogits::multiply(const ChooseFactors &factors, Value firstRow, Value rowCount, Value turn, Value turns) {
  auto whole = [&] {
    // The next block's weights are fetched meanwhile.
    ProductOperands all = operands(factors, firstRow, rowCount, b.i64(0), panelCount_);
    Value next = b.add(block_, 1);
    shareAhead(b, all, {panelAddress(factors, b.mul(next, kPanels)), b.i64(kPanels), b.less(next, end_), b.falseValue(), b.i64(0)}, turn, turns);
    callBlockProduct(b, all, factors.weight.kind(access.weightsStream), b.equal(turns, b.i64(1)));
  };
  auto some = [&] {
    b.loop(b.i64(0), panelCount_, 1, [&](Value panel) {
      b.ifThen(panelIsNeeded(panel),
               [&] { callBlockProduct(b, operands(factors, firstRow, rowCount, panel, b.i64(1)), factors.weight.kind(/*streams=*/false)); });
    });
  };
  b.ifElse(b.equal(neededCount, panelCount_), whole, some);
}

void ChooseLogits::multiplyPanels(Value row, Value first, Value second, Value count) {
  goTo(b.i64(0));
  ProductOperands pair = operands(factors_, row, b.i64(1), first, count);
  pair.panelStride = b.mul(b.sub(second, first), factors_.weight.panelElements);
  pair.c = sumsOf(b.i64(0), b.i64(0));
  callBlockProduct(b, pair, factors_.weight.kind(/*streams=*/false));
}

Value ChooseLogits::loadExtra(unsigned index, Value row, Value column, Value lanes) {
  unsigned view = firstExtra + index;
  Type element = cast<RankedTensorType>(op.getExtras()[index].getType()).getElementType();
  Value address = b.data(view);
  bool byColumn = false;
  for (auto [d, target] : llvm::enumerate(op.getMap(index))) {
    if (target == 2)
      byColumn = true;
    else if (target >= 0)
      address = b.at(address, b.mul(target == axis ? last : row, b.stride(view, d)), element);
  }
  if (!byColumn)
    return b.load(element, address);
  int64_t constantStride = access.lastStride[view];
  Value stride = ShapedType::isDynamic(constantStride) ? b.stride(view, op.getMap(index).size() - 1) : b.i64(constantStride);
  return b.loadStrided(element, b.at(address, b.mul(column, stride), element), constantStride, stride, lanes);
}

ChooseLogits::Row ChooseLogits::rowAt(Value row) {
  Value kind = b.toI64(b.load(b.getI32Type(), b.at(b.data(classesView), row, b.getI32Type())));
  Value words = b.at(b.data(forbiddenView), b.mul(kind, b.stride(forbiddenView, 0)), b.getI32Type());
  return {row, b.at(words, b.mul(block_, ChooseOp::kBlock / 32), b.getI32Type())};
}

Value ChooseLogits::logitsOf(const Row &row, Value panel, Value lanes, Value products) {
  return withoutForbidden(row, panel, lanes, computeLogits(row, panel, lanes, products));
}

Value ChooseLogits::boundsOf(const Row &row, Value panel, Value lanes, Value bounds) {
  Value logits = computeLogits(row, panel, lanes, bounds);
  if (op.isRounded()) {
    Value isPositive = b.create<arith::CmpFOp>(arith::CmpFPredicate::OGT, logits, b.splatF32(0));
    Value factor = b.create<arith::SelectOp>(isPositive, b.splatF32(1 + ChooseOp::kRounding), b.splatF32(1 - ChooseOp::kRounding));
    logits = b.create<arith::MulFOp>(logits, factor);
  }
  return withoutForbidden(row, panel, lanes, logits);
}

Value ChooseLogits::computeLogits(const Row &row, Value panel, Value lanes, Value products) {
  Block &body = op.getBody().front();
  Value column = b.add(b.mul(block_, ChooseOp::kBlock), b.mul(panel, kLanes));
  RegionVectorizer region(b);
  region.bind(body.getArgument(0), products);
  for (unsigned i = 0; i < op.getExtras().size(); ++i)
    region.bind(body.getArgument(1 + i), loadExtra(i, row.index, column, lanes));
  return region.emitVector(body.getTerminator()->getOperand(0));
}

Value ChooseLogits::withoutForbidden(const Row &row, Value panel, Value lanes, Value logits) {
  Value bits = b.create<LLVM::LoadOp>(b.getI16Type(), b.at(row.forbidden, panel, b.getI16Type()));
  Value none = b.splat(b.f32(-std::numeric_limits<double>::infinity()));
  logits = b.create<arith::SelectOp>(b.create<LLVM::BitcastOp>(b.vectorOf(b.getI1Type()), bits), none, logits);
  return b.firstLanesOf(logits, lanes, none);
}

SmallVector<Value> ChooseLogits::forPanels(ValueRange carried, llvm::function_ref<SmallVector<Value>(Value, Value, ValueRange)> body) {
  int64_t rest = factors_.weight.columns % kLanes;
  Value whole = panelCount_;
  if (rest)
    whole = b.min(panelCount_, b.sub(b.i64(factors_.weight.columns / kLanes), b.mul(block_, kPanels)));
  auto values = b.loop(b.i64(0), whole, 1, carried, [&](Value panel, ValueRange inside) { return body(panel, nullptr, inside); });
  if (!rest)
    return values;
  return b.choose(b.less(whole, panelCount_), [&] { return body(whole, b.i64(rest), values); }, [&] { return values; });
}

Value ChooseLogits::lanesOf(Value panel) {
  if (factors_.weight.columns % kLanes == 0)
    return nullptr;
  Value first = b.add(b.mul(block_, ChooseOp::kBlock), b.mul(panel, kLanes));
  return b.min(b.i64(kLanes), b.sub(b.i64(factors_.weight.columns), first));
}

} // namespace xf::cpu
