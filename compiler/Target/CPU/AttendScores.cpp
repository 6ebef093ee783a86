// Softmax in three passes over a row of products that lies in L1: largest score; exponentials and their sum; division, which
// with factors of bf16 is left for the context, that is shorter.
// Key j belongs to lane j mod 16 of sums, so that the bits don't depend on where the row ends.
#include "compiler/Target/CPU/AttendScores.h"

#include "compiler/Target/CPU/Chunks.h"
#include "compiler/Target/CPU/VectorMath.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf::cpu {

AttendScores::AttendScores(KernelBuilder &b, AttendOp op, const KernelRequest &request)
    : b(b), op(op), request(request), mask(op.getMask()),
      exactFill(op.isFillAScore()),
      isNarrow(cast<RankedTensorType>(op.getV().getType()).getElementType().isBF16()) {}

RegionVectorizer AttendScores::scope(Region &region, const Query &query) {
  RegionVectorizer result(b, [this](RegionVectorizer &inside, AtOp at) { return read(inside, at); });
  if (region.empty())
    return result;
  result.bind(region.getArgument(0), query.batch);
  result.bind(region.getArgument(1), query.head);
  result.bind(region.getArgument(2), query.position);
  return result;
}

Value AttendScores::end(const Query &query, Value keys) {
  RegionVectorizer region = scope(op.getMask(), query);
  return emitEnd(b, region, mask, keys);
}

Value AttendScores::begin(const Query &query) {
  RegionVectorizer region = scope(op.getMask(), query);
  return emitBegin(b, region, mask);
}

/// Whether the terms allow each of 16 keys.
Value AttendScores::allowed(RegionVectorizer masks, ArrayRef<Value> terms, Value offset) {
  masks.bindLanes(op.getMask().getArgument(3), offset);
  Value all;
  for (Value term : terms) {
    Value lanes = masks.toVector(masks.emit(term));
    all = all ? b.create<arith::AndIOp>(all, lanes).getResult() : lanes;
  }
  return chunkCount ? b.create<arith::AndIOp>(all, b.firstLanes(chunkCount)).getResult() : all;
}

Value AttendScores::keysOfSentence(Value batch, Value keys) {
  ArrayRef<Value> terms = mask.sentenceTerms;
  if (exactFill || terms.empty())
    return keys;
  RegionVectorizer region = scope(op.getMask(), {batch, b.i64(0), b.i64(0)});
  for (Value term : terms)
    emitUniform(region, term, op.getMask().getArgument(3));
  Type word = b.getI16Type();
  auto lastOf = [&](Value offset, Value count) {
    chunkStart = offset, chunkCount = count;
    Value bits = b.create<LLVM::BitcastOp>(word, allowed(region, terms, offset));
    Value behind = b.create<arith::ExtUIOp>(b.i64Type(), b.create<LLVM::CountLeadingZerosOp>(word, bits, /*is_zero_poison=*/false));
    Value any = b.create<arith::CmpIOp>(arith::CmpIPredicate::ne, bits, b.create<arith::ConstantIntOp>(word, 0));
    return b.create<arith::SelectOp>(any, b.sub(b.add(offset, kLanes), behind), b.i64(0)).getResult();
  };
  // From the last chunk, which may be short, to the first that has a key.
  Value rest = b.rem(keys, b.i64(kLanes)), whole = b.sub(keys, rest);
  Value end = b.choose(
      b.less(b.i64(0), rest), [&] { return SmallVector<Value>{lastOf(whole, rest)}; }, [&] { return SmallVector<Value>{b.i64(0)}; })[0];
  return b.loop(b.i64(0), whole, kLanes, end, [&](Value from, ValueRange carried) {
    Value found = b.less(b.i64(0), carried[0]);
    return b.choose(found, [&] { return SmallVector<Value>(carried); },
                    [&] { return SmallVector<Value>{lastOf(b.sub(whole, b.add(from, kLanes)), nullptr)}; });
  })[0];
}

Value AttendScores::rowWithoutKeys(Value keys) {
  if (op.getMask().empty())
    return b.f32(std::numeric_limits<double>::quiet_NaN());
  if (!op.getFill().isFinite())
    return b.f32(0);
  return b.create<arith::DivFOp>(b.f32(1), b.create<arith::SIToFPOp>(b.getF32Type(), keys));
}

/// Emits the parts of `value` that don't depend on `varying`, the key and what else differs from key to key, so that they stand outside the
/// loops over keys.
void AttendScores::emitUniform(RegionVectorizer &region, Value value, ValueRange varying) {
  llvm::DenseSet<Value> seen;
  emitUniform(region, value, varying, seen);
}

void AttendScores::emitUniform(RegionVectorizer &region, Value value, ValueRange varying, llvm::DenseSet<Value> &seen) {
  if (llvm::is_contained(varying, value) || !seen.insert(value).second)
    return;
  if (llvm::none_of(varying, [&](Value each) { return dependsOn(value, each); })) {
    region.emit(value);
    return;
  }
  for (Value operand : value.getDefiningOp()->getOperands())
    if (!isa<RankedTensorType>(operand.getType()))
      emitUniform(region, operand, varying, seen);
}

/// The scores of 16 keys, those that are not allowed at their fill.
Value AttendScores::score(RegionVectorizer masks, RegionVectorizer biases, RegionVectorizer functions, Value products, Value scale, Value offset) {
  Value scores = b.create<arith::MulFOp>(products, scale);
  if (!op.getScore().empty()) {
    functions.bindLanes(op.getScore().getArgument(3), offset);
    functions.bind(op.getScore().getArgument(4), scores);
    scores = functions.emitVector(yieldOf(op.getScore()));
  }
  if (!op.getBias().empty()) {
    biases.bindLanes(op.getBias().getArgument(3), offset);
    Value bias = biases.emit(yieldOf(op.getBias()));
    scores = b.create<arith::AddFOp>(scores, biases.toVector(bias));
  }
  Value nothing = b.splatF32(-std::numeric_limits<double>::infinity());
  if (!op.getMask().empty()) {
    masks.bindLanes(op.getMask().getArgument(3), offset);
    SmallVector<Value> terms = mask.keyTerms;
    if (exactFill)
      terms.assign(1, yieldOf(op.getMask()));
    Value fill = exactFill ? b.splatF32(op.getFill().convertToDouble()) : nothing;
    for (Value term : terms)
      scores = b.create<arith::SelectOp>(masks.emit(term), scores, fill);
  }
  return chunkCount ? b.create<arith::SelectOp>(b.firstLanes(chunkCount), scores, nothing).getResult() : scores;
}

AttendScores::Row AttendScores::emit(Value row, Value begin, Value end, Value width, const Query &query, std::optional<Scales> scales) {
  Type f32 = b.getF32Type();
  Value scale = b.f32(op.getScale().convertToDouble());
  if (scales)
    scale = b.create<arith::MulFOp>(scales->query, scale);
  Value scaleLanes = b.splat(scale);
  auto loadProducts = [&](Value offset) -> Value {
    if (!scales)
      return b.loadVector(f32, address(row, offset));
    Value products = b.create<arith::SIToFPOp>(b.vectorOf(f32), b.loadVector(b.getI32Type(), address(row, offset)));
    return b.create<arith::MulFOp>(products, b.loadVector(f32, address(scales->keys, offset)));
  };
  // Without regions to evaluate, scores need not be stored: the largest is that of the largest product.
  bool plain = op.getBias().empty() && op.getScore().empty() && !exactFill && mask.keyTerms.empty() && op.getScale().convertToDouble() > 0;
  RegionVectorizer masks = scope(op.getMask(), query), biases = scope(op.getBias(), query), functions = scope(op.getScore(), query);
  for (Value term : exactFill ? SmallVector<Value>(op.getMask().front().getTerminator()->getOperands()) : mask.keyTerms)
    emitUniform(masks, term, op.getMask().getArgument(3));
  if (!op.getBias().empty())
    emitUniform(biases, yieldOf(op.getBias()), op.getBias().getArgument(3));
  if (!op.getScore().empty())
    emitUniform(functions, yieldOf(op.getScore()), op.getScore().getArguments().drop_front(3));
  loadTables(biases, op.getBias());
  loadTables(functions, op.getScore());

  Value lowest = identity(b, ReduceKind::max, f32);
  auto largest = forChunks(b, begin, end, b.splat(lowest), [&](Value offset, Value count, ValueRange carried) -> SmallVector<Value> {
    chunkStart = offset, chunkCount = count;
    Value scores = loadProducts(offset);
    if (!plain) {
      scores = score(masks, biases, functions, scores, scaleLanes, offset);
      b.storeVector(scores, address(row, offset));
    } else if (count) {
      scores = b.create<arith::SelectOp>(b.firstLanes(count), scores, b.splat(lowest));
    }
    return {combine(b, ReduceKind::max, scores, carried[0])};
  });
  tables.clear();
  Value most = reduceLanes(b, ReduceKind::max, largest[0]);
  Value isNumber = b.create<arith::CmpFOp>(arith::CmpFPredicate::OGT, most, lowest);
  if (plain)
    most = b.create<arith::MulFOp>(most, scale);
  Value shift = b.splat(b.create<arith::SelectOp>(isNumber, most, b.f32(0)));

  auto sums = forChunks(b, begin, end, b.splatF32(0), [&](Value offset, Value count, ValueRange carried) -> SmallVector<Value> {
    Value scores = plain ? b.create<arith::MulFOp>(loadProducts(offset), scaleLanes).getResult() : b.loadVector(f32, address(row, offset));
    Value difference = b.create<arith::SubFOp>(scores, shift);
    Value powers = isNarrow ? shortExpOfNegative(b, difference) : expOfNegative(b, difference);
    if (count && plain)
      powers = b.create<arith::SelectOp>(b.firstLanes(count), powers, b.splatF32(0));
    // A vector's exponentials take half of the room of its scores: they end before those that are still to be read.
    if (isNarrow && !scales)
      b.storeVector(narrowToBF16(b, powers), b.at(row, offset, b.getBF16Type()));
    else
      b.storeVector(powers, address(row, offset));
    return {combine(b, ReduceKind::sum, powers, carried[0])};
  });
  Value sum = reduceLanes(b, ReduceKind::sum, sums[0]);
  // Scores that are NaN are not the largest, but make the sum NaN.
  Value any = b.create<arith::OrIOp>(isNumber, b.create<arith::CmpFOp>(arith::CmpFPredicate::UNO, sum, sum));
  Value reciprocal = b.create<arith::DivFOp>(b.f32(1), b.create<arith::SelectOp>(any, sum, b.f32(1)));

  if (scales)
    return {any, reciprocal};
  Value used = b.mul(b.ceilDiv(end, kLanes), kLanes);
  if (isNarrow) {
    Value zeros = b.splat(b.create<arith::ConstantOp>(b.getI16IntegerAttr(0)));
    b.loop(used, width, kLanes, [&](Value offset) { b.storeVector(zeros, b.at(row, offset, b.getBF16Type())); });
    return {any, reciprocal};
  }
  b.loop(begin, used, kLanes, [&](Value offset) {
    Value powers = b.loadVector(f32, address(row, offset));
    b.storeVector(b.create<arith::MulFOp>(powers, b.splat(reciprocal)), address(row, offset));
  });
  b.loop(used, width, kLanes, [&](Value offset) { b.storeVector(b.splatF32(0), address(row, offset)); });
  return {any, reciprocal};
}

} // namespace xf::cpu
