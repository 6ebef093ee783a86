#include "compiler/Target/GPU/ChooseKernel.h"
#include "compiler/Target/VectorMath.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf::gpu {

Candidate noCandidate(GpuBuilder &b) { return {noLogit(b), b.i32(-1)}; }

Value keyOf(GpuBuilder &b, Value logit) {
  Type i32 = b.getI32Type();
  Value value = select(b, compare(b, arith::CmpFPredicate::OGT, logit, noLogit(b)), logit, noLogit(b));
  Value bits = b.create<arith::BitcastOp>(i32, value);
  // The bits are a sign and a magnitude; the key is the magnitude, negated if the sign is set.
  Value negated = b.create<arith::SubIOp>(b.i32(std::numeric_limits<int32_t>::min()), bits);
  Value isNegative = b.create<arith::CmpIOp>(arith::CmpIPredicate::slt, bits, b.i32(0));
  return select(b, isNegative, negated, bits);
}

Value noKey(GpuBuilder &b) { return b.i32(-llvm::bit_cast<int32_t>(std::numeric_limits<float>::infinity())); }

Best bestOfWarp(GpuBuilder &b, Value key) {
  auto isEqual = [&](Value x, Value y) { return b.create<arith::CmpIOp>(arith::CmpIPredicate::eq, x, y); };
  Value own = b.create<arith::ShLIOp>(b.i32(1), b.narrow(b.lane())), upToOwn = b.create<arith::OrIOp>(own, b.create<arith::SubIOp>(own, b.i32(1)));
  // A ballot costs less than a second reduction, of the columns.
  Value greatest = b.warpMax(key), holders = b.ballot(isEqual(key, greatest));
  // Whether the lane is the lowest of them: written so, it is one instruction.
  Value others = b.create<arith::AndIOp>(b.create<arith::XOrIOp>(holders, own), upToOwn);
  return {greatest, isEqual(others, b.i32(0))};
}

Value shiftOf(GpuBuilder &b, Value largest) { return select(b, compare(b, arith::CmpFPredicate::OEQ, largest, noLogit(b)), b.f32(0), largest); }

void storeLargest(GpuBuilder &b, Value largest, Value isNonFinite, Value address) {
  Value condition = b.create<arith::CmpIOp>(arith::CmpIPredicate::ne, isNonFinite, b.i32(0));
  b.store(select(b, condition, b.f32(std::numeric_limits<double>::quiet_NaN()), largest), address);
}

ChooseShape shapeOf(ChooseOp op, const KernelRequest &request) {
  using enum ChooseOperands::View;
  unsigned rowsDim = 1 - op.getAxis();
  return {rowsView, rowsDim, forbiddenView, classesView, optionsView, request.resultView(), op.getColumns(), op.getMaxChosen()};
}

ChooseViews::ChooseViews(GpuBuilder &b, const ChooseShape &shape)
    : rows(b.size(shape.rowsView, shape.rowsDim)), result(shape.result), blocks(ChooseOp::countBlocks(shape.columns)),
      maxCandidates(shape.maxCandidates), b(b), shape(shape), paddedBlocks(llvm::alignTo(blocks, codegen::kLanes)) {}

void ChooseViews::readOptions() {
  Type i32 = b.getI32Type();
  wanted = b.min(b.toI64(b.load(i32, b.data(shape.optionsView))), b.i64(maxCandidates));
  sums = b.create<arith::CmpIOp>(arith::CmpIPredicate::ne, b.load(i32, b.at(b.data(shape.optionsView), 1, i32)), b.i32(0));
}

Value ChooseViews::wordsOf(Value row, Value block) {
  Value offset = b.mul(loadIndex(b, shape.classesView, row), b.stride(shape.forbiddenView, 0));
  return b.at(b.data(shape.forbiddenView), b.add(offset, b.mul(block, ChooseOp::kBlock / 32)), b.getI32Type());
}

Value ChooseViews::maximumAt(Value row, Value block) {
  return b.at(b.data(result + 3), b.add(b.mul(row, b.stride(result + 3, 0)), block), b.getF32Type());
}
Value ChooseViews::sumAt(Value row, Value block) { return maximumAt(row, b.add(block, paddedBlocks)); }
Value ChooseViews::logitAt(Value row, Value index) { return maximumAt(row, b.add(index, 2 * paddedBlocks)); }
Value ChooseViews::columnOf(Value logitAddress) { return b.at(logitAddress, maxCandidates, b.getI32Type()); }

Value ChooseViews::loadLogit(Value row, Value index) { return b.load(b.getF32Type(), logitAt(row, index)); }
Candidate ChooseViews::load(Value row, Value index) { return {loadLogit(row, index), b.load(b.getI32Type(), columnOf(logitAt(row, index)))}; }
void ChooseViews::store(const Candidate &candidate, Value row, Value block, Value index) {
  Value address = logitAt(row, b.add(listBegin(block), index));
  b.store(candidate.logit, address);
  b.store(candidate.column, columnOf(address));
}
void ChooseViews::storeResult(const Candidate &candidate, Value row, Value rank) {
  auto at = [&](unsigned view, Type element) { return b.at(b.data(view), b.add(b.mul(row, b.stride(view, 0)), rank), element); };
  b.store(candidate.logit, at(result, b.getF32Type()));
  b.store(candidate.column, at(result + 1, b.getI32Type()));
}

} // namespace xf::gpu
