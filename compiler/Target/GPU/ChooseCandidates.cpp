#include "compiler/Target/GPU/ChooseKernel.h"
#include "compiler/Target/VectorMath.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf::gpu {

Candidate noCandidate(GpuBuilder &b) { return {noLogit(b), b.create<arith::ConstantIntOp>(b.getI32Type(), -1)}; }

Candidate greaterOf(GpuBuilder &b, const Candidate &first, const Candidate &next) {
  Value greater = compare(b, arith::CmpFPredicate::OGT, next.logit, first.logit);
  return {select(b, greater, next.logit, first.logit), select(b, greater, next.column, first.column)};
}

Candidate bestOf(GpuBuilder &b, const Candidate &x, const Candidate &y) {
  // No column at all, -1, is the last of them.
  Value before = b.create<arith::CmpIOp>(arith::CmpIPredicate::ult, y.column, x.column);
  Value equal = compare(b, arith::CmpFPredicate::OEQ, y.logit, x.logit);
  Value better = b.create<arith::OrIOp>(compare(b, arith::CmpFPredicate::OGT, y.logit, x.logit),
                                        b.create<arith::AndIOp>(equal, before));
  return {select(b, better, y.logit, x.logit), select(b, better, y.column, x.column)};
}

Candidate bestOver(GpuBuilder &b, Candidate candidate, int64_t lanes) {
  for (int64_t distance = lanes / 2; distance >= 1; distance /= 2)
    candidate = bestOf(b, candidate, {b.exchange(candidate.logit, distance), b.exchange(candidate.column, distance)});
  return candidate;
}

KeptCandidates::KeptCandidates(GpuBuilder &b, Value thread, int64_t threads, int64_t most) : b(b) {
  for (int64_t first = 0; first < most; first += threads) {
    places.push_back(b.add(thread, first));
    kept.push_back(noCandidate(b));
  }
}
SmallVector<Value> KeptCandidates::values() const {
  SmallVector<Value> values;
  for (const Candidate &candidate : kept)
    values.append({candidate.logit, candidate.column});
  return values;
}
void KeptCandidates::take(ValueRange carried) {
  for (auto [i, candidate] : llvm::enumerate(kept))
    candidate = {carried[2 * i], carried[2 * i + 1]};
}
void KeptCandidates::keep(const Candidate &candidate, Value place) {
  for (auto [own, mine] : llvm::zip(kept, places)) {
    Value isMine = b.equal(mine, place);
    own = {select(b, isMine, candidate.logit, own.logit), select(b, isMine, candidate.column, own.column)};
  }
}
void KeptCandidates::forEach(Value end, function_ref<void(const Candidate &, Value)> store) const {
  for (auto [own, mine] : llvm::zip(kept, places))
    b.ifThen(b.less(mine, end), [&, own = own, mine = mine] { store(own, mine); });
}

Value shiftOf(GpuBuilder &b, Value largest) {
  return select(b, compare(b, arith::CmpFPredicate::OEQ, largest, noLogit(b)), b.f32(0), largest);
}

void storeLargest(GpuBuilder &b, Value largest, Value isOdd, Value address) {
  Value odd = b.create<arith::CmpIOp>(arith::CmpIPredicate::ne, isOdd, b.create<arith::ConstantIntOp>(b.getI32Type(), 0));
  b.store(select(b, odd, b.f32(std::numeric_limits<double>::quiet_NaN()), largest), address);
}

ChooseViews::ChooseViews(GpuBuilder &b, ChooseOp op, const KernelRequest &request)
    : result(request.resultView()), blocks(ChooseOp::countBlocks(op.getColumns())), most(op.getMost()), b(b),
      paddedBlocks(llvm::alignTo(blocks, codegen::kLanes)) {
  rows = b.size(rowsView, 1 - op.getAxis());
}

void ChooseViews::readOptions() {
  Type i32 = b.getI32Type();
  wanted = b.min(b.toI64(b.load(i32, b.data(optionsView))), b.i64(most));
  sums = b.create<arith::CmpIOp>(arith::CmpIPredicate::ne, b.load(i32, b.at(b.data(optionsView), 1, i32)),
                                 b.create<arith::ConstantIntOp>(i32, 0));
}

Value ChooseViews::maximumAt(Value row, Value block) {
  return b.at(b.data(result + 3), b.add(b.mul(row, b.stride(result + 3, 0)), block), b.getF32Type());
}
Value ChooseViews::sumAt(Value row, Value block) { return maximumAt(row, b.add(block, paddedBlocks)); }
Value ChooseViews::logitAt(Value row, Value block, Value place) {
  return maximumAt(row, b.add(b.add(b.mul(block, 2 * most), place), 2 * paddedBlocks));
}
Value ChooseViews::columnOf(Value logitAddress) { return b.at(logitAddress, most, b.getI32Type()); }

Candidate ChooseViews::load(Value row, Value block, Value place) {
  Value address = logitAt(row, block, place);
  return {b.load(b.getF32Type(), address), b.load(b.getI32Type(), columnOf(address))};
}
void ChooseViews::store(const Candidate &candidate, Value row, Value block, Value place) {
  Value address = logitAt(row, block, place);
  b.store(candidate.logit, address);
  b.store(candidate.column, columnOf(address));
}
void ChooseViews::storeResult(const Candidate &candidate, Value row, Value place) {
  auto at = [&](unsigned view, Type element) {
    return b.at(b.data(view), b.add(b.mul(row, b.stride(view, 0)), place), element);
  };
  b.store(candidate.logit, at(result, b.getF32Type()));
  b.store(candidate.column, at(result + 1, b.getI32Type()));
}

} // namespace xf::gpu
