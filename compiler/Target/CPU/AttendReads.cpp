// Reads of tensors inside mask and bias regions.
//
// A region is evaluated for 16 keys at once, even where a select would guard the read of some, so indices are clamped to
// the tensor. Neighbouring elements along the keys are one vector load.
#include "compiler/Target/CPU/AttendScores.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf::cpu {

/// The offset in elements that index `d` of a read, the same for all lanes, adds to the tensor's start.
Value AttendScores::uniformOffset(AtOp at, unsigned d, Value emitted) {
  unsigned view = request.viewOf(at.getTensor());
  if (!op.isWithin(at, d))
    emitted = b.max(b.min(emitted, b.sub(b.size(view, d), 1)), b.i64(0));
  if (auto slots = d == 0 ? request.slotsOf(at.getTensor()) : std::nullopt)
    emitted = b.loadIndex(*slots, emitted);
  return b.mul(emitted, b.stride(view, d));
}

/// The address of a read by the indices that are the same for all lanes; `varying` gets the dimensions of the others.
Value AttendScores::addressOf(RegionVectorizer &region, AtOp at, SmallVector<unsigned> &varying) {
  Value start = b.i64(0);
  for (auto [d, index] : llvm::enumerate(at.getIndices())) {
    Value emitted = region.emit(index);
    if (RegionVectorizer::isVector(emitted))
      varying.push_back(d);
    else
      start = b.add(start, uniformOffset(at, d, emitted));
  }
  return b.at(b.data(request.viewOf(at.getTensor())), start, at.getResult().getType());
}

/// Index `d` of a read for each lane, inside the tensor.
Value AttendScores::lanesOf(RegionVectorizer &region, AtOp at, unsigned d) {
  Value last = region.toVector(b.sub(b.size(request.viewOf(at.getTensor()), d), 1));
  Value index = b.create<arith::MinSIOp>(region.emit(at.getIndices()[d]), last);
  return b.create<arith::MaxSIOp>(index, b.splat(b.create<arith::ConstantOp>(b.getI32IntegerAttr(0))));
}

/// The index of a read that differs from key to key, if it is the only one and ranges over so few elements that two registers hold them.
static std::optional<unsigned> indexOfSmallTable(AtOp at, Value key) {
  auto type = cast<RankedTensorType>(at.getTensor().getType());
  std::optional<unsigned> found;
  for (auto [d, index] : llvm::enumerate(at.getIndices()))
    if (dependsOn(index, key)) {
      if (found || index == key || !type.getElementType().isF32() || type.isDynamicDim(d) || type.getDimSize(d) > 2 * kLanes)
        return std::nullopt;
      found = d;
    }
  return found;
}

/// Loads, for the current row, the small tables that a region reads, as those of relative positions: one instruction then looks up the
/// elements of 16 keys.
void AttendScores::loadTables(RegionVectorizer &scope, Region &region) {
  if (region.empty() || !hasAvx512(b.isa()))
    return;
  Value key = region.getArgument(3);
  region.walk([&](AtOp at) {
    std::optional<unsigned> d = indexOfSmallTable(at, key);
    if (!d)
      return;
    RegionVectorizer inside = scope;
    inside.bind(at.getIndices()[*d], b.splat(b.create<arith::ConstantOp>(b.getI32IntegerAttr(0))));
    SmallVector<unsigned> varying;
    unsigned view = request.viewOf(at.getTensor());
    Value start = addressOf(inside, at, varying), stride = b.stride(view, *d);
    auto type = cast<RankedTensorType>(at.getTensor().getType());
    int64_t size = type.getDimSize(*d), constantStride = *d == type.getRank() - 1 ? request.access.lastStride[view] : ShapedType::kDynamic;
    SmallTable &table = tables[at];
    table.index = *d;
    for (int64_t first = 0; first < size; first += kLanes) {
      Value count = size - first < kLanes ? b.i64(size - first) : Value();
      table.parts.push_back(b.loadStrided(b.getF32Type(), b.at(start, b.mul(stride, first), b.getF32Type()), constantStride, stride, count));
    }
  });
}

/// A read of a small table, which has been loaded for the current row.
Value AttendScores::readTable(RegionVectorizer &region, AtOp at, const SmallTable &table) {
  ArrayRef<Value> parts = table.parts;
  StringRef name = parts.size() == 1 ? "llvm.x86.avx512.permvar.sf.512" : "llvm.x86.avx512.vpermi2var.ps.512";
  SmallVector<Value> operands{parts[0], lanesOf(region, at, table.index)};
  llvm::append_range(operands, parts.drop_front());
  return LLVM::CallIntrinsicOp::create(b, b.getLoc(), b.vectorOf(at.getResult().getType()), b.getStringAttr(name), operands)->getResult(0);
}

/// Whether lanes read neighbours: the last index goes with the key's position.
bool AttendScores::readsNeighbours(AtOp at, ArrayRef<unsigned> varying) {
  unsigned last = at.getIndices().size() - 1;
  return varying == ArrayRef<unsigned>{last} && request.access.lastStride[request.viewOf(at.getTensor())] == 1 &&
         codegen::follows(at.getIndices().back(), at->getBlock()->getArgument(3));
}

/// Each lane's element by itself.
Value AttendScores::gather(RegionVectorizer &region, AtOp at, Value base, ArrayRef<unsigned> varying) {
  // Booleans are gathered as bytes.
  Type element = at.getResult().getType(), stored = element.isInteger(1) ? b.getI8Type() : element;
  unsigned view = request.viewOf(at.getTensor());
  SmallVector<Value> lanes;
  for (unsigned d : varying)
    lanes.push_back(lanesOf(region, at, d));
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

Value AttendScores::read(RegionVectorizer &region, AtOp at) {
  if (auto found = tables.find(at); found != tables.end())
    return readTable(region, at, found->second);
  Type element = at.getResult().getType();
  SmallVector<unsigned> varying;
  Value base = addressOf(region, at, varying);
  if (varying.empty())
    return b.load(element, base);
  if (!readsNeighbours(at, varying))
    return gather(region, at, base, varying);
  RankedTensorType type = typeOf(at.getTensor());
  unsigned last = varying.front();
  auto key = dyn_cast<BlockArgument>(at.getIndices().back());
  // The tensor has an element for each key.
  if (key && sameDim(type, last, typeOf(op.getK()), 2))
    return b.loadVector(element, b.at(base, chunkStart, element), chunkCount);
  Value first = b.toI64(b.create<vector::ExtractOp>(region.emit(at.getIndices().back()), 0));
  Value end = b.add(first, chunkCount ? chunkCount : b.i64(kLanes)), size = b.size(request.viewOf(at.getTensor()), last);
  Value isInside = b.both(b.less(b.i64(-1), first), b.less(end, b.add(size, 1)));
  return b.chooseOne(
      isInside, [&] { return b.loadVector(element, b.at(base, first, element), chunkCount); }, [&] { return gather(region, at, base, varying); });
}

} // namespace xf::cpu
