#include "compiler/Target/GPU/AttendKernel.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf::gpu {

AttendScore::AttendScore(GpuBuilder &b, AttendOp op, const KernelRequest &request, Value batch, Value head, Value position)
    : b(b), op(op), request(request), mask(op.getMask()), exactFill(op.isFillAScore()), batch(batch), head(head), position(position) {}

codegen::RegionVectorizer AttendScore::scope(Region &region) {
  codegen::RegionVectorizer result(b, [this](codegen::RegionVectorizer &inside, AtOp at) { return read(inside, at); });
  result.bind(region.getArgument(0), batch);
  result.bind(region.getArgument(1), head);
  result.bind(region.getArgument(2), position);
  return result;
}

/// Reads stay inside the tensor, whatever their indices are: a select may discard what they read.
Value AttendScore::read(codegen::RegionVectorizer &region, AtOp at) {
  unsigned view = request.viewOf(at.getTensor());
  Value offset = b.i64(0);
  for (auto [d, index] : llvm::enumerate(at.getIndices())) {
    Value emitted = region.emit(index);
    if (!op.isWithin(at, d))
      emitted = b.max(b.min(emitted, b.sub(b.size(view, d), 1)), b.i64(0));
    if (auto slots = d == 0 ? request.slotsOf(at.getTensor()) : std::nullopt)
      emitted = loadIndex(b, *slots, emitted);
    offset = b.add(offset, b.mul(emitted, b.stride(view, d)));
  }
  Type element = at.getResult().getType();
  return b.load(element, b.at(b.data(view), offset, element));
}

Value AttendScore::end(Value keys) {
  if (exactFill || (mask.ends.empty() && mask.rowTerms.empty()))
    return keys;
  codegen::RegionVectorizer region = scope(op.getMask());
  return codegen::emitEnd(b, region, mask, keys);
}

Value AttendScore::beginOfTiles() {
  if (exactFill || mask.begins.empty() || op.getProbabilities())
    return b.i64(0);
  codegen::RegionVectorizer region = scope(op.getMask());
  Value begin = codegen::emitBegin(b, region, mask);
  return b.sub(begin, b.rem(begin, kTileKeys));
}

Value AttendScore::keysOfSentence(Value keys) {
  if (exactFill || mask.sentenceTerms.empty())
    return keys;
  // The end of 32 keys' last one that is allowed; 0 if none is.
  auto endOf = [&](Value first) {
    Value key = b.add(first, b.lane()), allowed = b.less(key, keys);
    codegen::RegionVectorizer region = scope(op.getMask());
    region.bind(op.getMask().getArgument(3), b.min(key, b.sub(keys, 1)));
    for (Value term : mask.sentenceTerms)
      allowed = b.both(allowed, region.emit(term));
    Value end = b.create<arith::SelectOp>(allowed, b.narrow(b.add(key, 1)), b.i32(0));
    return b.toI64(b.reduceOver(ReduceKind::max, end, kWarp));
  };
  // From the end backwards: only padding has to be passed.
  Type i64 = b.getI64Type();
  auto search = b.create<scf::WhileOp>(TypeRange{i64, i64}, ValueRange{b.ceilDiv(keys, kWarp), b.i64(0)});
  OpBuilder::InsertionGuard guard(b);
  Block *before = b.createBlock(&search.getBefore(), {}, {i64, i64}, {b.getLoc(), b.getLoc()});
  Value isOpen = b.create<arith::CmpIOp>(arith::CmpIPredicate::eq, before->getArgument(1), b.i64(0));
  isOpen = b.both(isOpen, b.less(b.i64(0), before->getArgument(0)));
  b.create<scf::ConditionOp>(isOpen, before->getArguments());
  Block *after = b.createBlock(&search.getAfter(), {}, {i64, i64}, {b.getLoc(), b.getLoc()});
  Value part = b.sub(after->getArgument(0), 1);
  b.create<scf::YieldOp>(ValueRange{part, endOf(b.mul(part, kWarp))});
  return search.getResult(1);
}

Value AttendScore::score(Value product, Value key) {
  Value score = b.create<arith::MulFOp>(product, b.f32(op.getScale().convertToDouble()));
  if (!op.getScore().empty()) {
    codegen::RegionVectorizer region = scope(op.getScore());
    region.bind(op.getScore().getArgument(3), key);
    region.bind(op.getScore().getArgument(4), score, /*isElement=*/true);
    score = region.emit(codegen::yieldOf(op.getScore()));
  }
  if (!op.getBias().empty()) {
    codegen::RegionVectorizer region = scope(op.getBias());
    region.bind(op.getBias().getArgument(3), key);
    score = b.create<arith::AddFOp>(score, region.emit(codegen::yieldOf(op.getBias())));
  }
  if (op.getMask().empty())
    return score;
  codegen::RegionVectorizer region = scope(op.getMask());
  region.bind(op.getMask().getArgument(3), key);
  SmallVector<Value> terms = mask.keyTerms;
  if (exactFill)
    terms.assign(1, codegen::yieldOf(op.getMask()));
  Value fill = b.f32(exactFill ? op.getFill().convertToDouble() : -std::numeric_limits<double>::infinity());
  for (Value term : terms)
    score = b.create<arith::SelectOp>(region.emit(term), score, fill);
  return score;
}

} // namespace xf::gpu
