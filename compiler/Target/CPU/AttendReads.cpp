// Reads of tensors inside mask and bias regions.
//
// A region is evaluated for 16 keys whether or not it would read there for each (a choice may guard a read), so reads
// stay inside the tensor, whatever their indices. Neighbouring elements along the keys are one vector load.
#include "compiler/Target/CPU/AttendScores.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf::cpu {

/// Where index `d` of a read, the same for all lanes, leads to: elements from the tensor's start.
Value AttendScores::uniformOffset(AtOp at, unsigned d, Value emitted) {
  unsigned view = request.viewOf(at.getTensor());
  Value index = at.getIndices()[d];
  if (!isa<BlockArgument>(index) && !matchPattern(index, m_Constant()))
    emitted = b.max(b.min(emitted, b.sub(b.size(view, d), 1)), b.i64(0));
  if (auto slots = d == 0 ? request.slotsOf(at.getTensor()) : std::nullopt)
    emitted = b.toI64(b.load(b.getI32Type(), b.at(b.data(*slots), b.mul(emitted, b.stride(*slots, 0)), b.getI32Type())));
  return b.mul(emitted, b.stride(view, d));
}

Value AttendScores::read(RegionVectorizer &region, AtOp at) {
  unsigned view = request.viewOf(at.getTensor());
  auto type = cast<RankedTensorType>(at.getTensor().getType());
  Type element = at.getResult().getType();
  Value start = b.i64(0);
  SmallVector<unsigned> varying; // numbers of the indices that differ between lanes
  for (auto [d, index] : llvm::enumerate(at.getIndices())) {
    Value emitted = region.emit(index);
    if (RegionVectorizer::isVector(emitted))
      varying.push_back(d);
    else
      start = b.add(start, uniformOffset(at, d, emitted));
  }
  if (varying.size() == 1 && varying[0] == type.getRank() - 1) {
    auto key = dyn_cast<BlockArgument>(at.getIndices().back());
    if (key && key.getArgNumber() == 3 && request.access.lastStride[view] == 1 &&
        sameDim(type, type.getRank() - 1, cast<RankedTensorType>(op.getK().getType()), 2))
      return b.loadVector(element, b.at(b.data(view), b.add(start, chunkStart), element), chunkCount);
  }

  Value base = b.at(b.data(view), start, element);
  if (varying.empty())
    return b.load(element, base);
  Type stored = element.isInteger(1) ? b.getI8Type() : element;
  SmallVector<Value> lanes;
  for (unsigned d : varying) {
    Value last = region.toVector(b.sub(b.size(view, d), 1));
    Value index = b.create<arith::MinSIOp>(region.emit(at.getIndices()[d]), last);
    lanes.push_back(b.create<arith::MaxSIOp>(index, b.splat(b.create<arith::ConstantOp>(b.getI32IntegerAttr(0)))));
  }
  SmallVector<Value> elements;
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    Value offset = b.i64(0);
    for (auto [d, index] : llvm::zip(varying, lanes))
      offset = b.add(offset, b.mul(b.toI64(b.create<vector::ExtractOp>(index, lane)), b.stride(view, d)));
    elements.push_back(b.load(stored, b.at(base, offset, stored)));
  }
  Value gathered = b.create<vector::FromElementsOp>(b.vectorOf(stored), elements);
  if (stored == element)
    return gathered;
  Value zero = b.create<arith::ConstantOp>(b.getZeroAttr(gathered.getType()));
  return b.create<arith::CmpIOp>(arith::CmpIPredicate::ne, gathered, zero);
}

} // namespace xf::cpu
