// Softmax in three passes over a row of products that lies in L1: largest score; exponentials and their sum; division, which
// with factors of bf16 is left for the context, that is shorter.
// Key j belongs to lane j mod 16 of sums, so that the bits don't depend on where the row ends.
#include "compiler/Target/CPU/AttendScores.h"

#include "compiler/Target/CPU/Chunks.h"
#include "compiler/Target/VectorMath.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf::cpu {

AttendScores::AttendScores(KernelBuilder &b, AttendOp op, const KernelRequest &request)
    : b(b), op(op), request(request), mask(op.getMask()), exactFill(op.isFillAScore()),
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
    all = b.both(all, lanes);
  }
  return chunkCount ? b.both(all, b.firstLanes(chunkCount)) : all;
}

Value AttendScores::keysOfSentence(Value batch, Value keys) {
  ArrayRef<Value> terms = mask.sentenceTerms;
  if (exactFill || terms.empty())
    return keys;
  RegionVectorizer region = scope(op.getMask(), {batch, b.i64(0), b.i64(0)});
  for (Value term : terms)
    emitUniform(region, term, op.getMask().getArgument(3));
  Type i16 = b.getI16Type();
  auto lastOf = [&](Value offset, Value count) {
    chunkStart = offset, chunkCount = count;
    Value bits = b.create<LLVM::BitcastOp>(i16, allowed(region, terms, offset));
    Value behind = b.create<arith::ExtUIOp>(b.i64Type(), b.create<LLVM::CountLeadingZerosOp>(i16, bits, /*is_zero_poison=*/false));
    Value any = b.create<arith::CmpIOp>(arith::CmpIPredicate::ne, bits, b.create<arith::ConstantIntOp>(i16, 0));
    return b.create<arith::SelectOp>(any, b.sub(b.add(offset, kLanes), behind), b.i64(0)).getResult();
  };
  // From the last chunk, which may be short, to the first that has a key.
  Value rest = b.rem(keys, b.i64(kLanes)), whole = b.sub(keys, rest);
  Value end = b.chooseOne(b.less(b.i64(0), rest), [&] { return lastOf(whole, rest); }, [&] { return b.i64(0); });
  return b.accumulate(b.i64(0), whole, kLanes, end, [&](Value from, Value carried) {
    Value found = b.less(b.i64(0), carried);
    return b.chooseOne(found, [&] { return carried; }, [&] { return lastOf(b.sub(whole, b.add(from, kLanes)), nullptr); });
  });
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

AttendScores::Regions AttendScores::regionsFor(const Query &query) {
  Regions regions{scope(op.getMask(), query), scope(op.getBias(), query), scope(op.getScore(), query)};
  for (Value term : exactFill ? SmallVector<Value>{yieldOf(op.getMask())} : mask.keyTerms)
    emitUniform(regions.masks, term, op.getMask().getArgument(3));
  if (!op.getBias().empty())
    emitUniform(regions.biases, yieldOf(op.getBias()), op.getBias().getArgument(3));
  if (!op.getScore().empty())
    emitUniform(regions.functions, yieldOf(op.getScore()), op.getScore().getArguments().drop_front(3));
  loadTables(regions.biases, op.getBias());
  loadTables(regions.functions, op.getScore());
  return regions;
}

/// The scores of 16 keys from their products; those of masked keys are the fill.
Value AttendScores::score(Regions regions, Value products, Value scale, Value offset) {
  Value scores = b.create<arith::MulFOp>(products, scale);
  if (!op.getScore().empty()) {
    regions.functions.bindLanes(op.getScore().getArgument(3), offset);
    regions.functions.bind(op.getScore().getArgument(4), scores);
    scores = regions.functions.emitVector(yieldOf(op.getScore()));
  }
  if (!op.getBias().empty()) {
    regions.biases.bindLanes(op.getBias().getArgument(3), offset);
    Value bias = regions.biases.emit(yieldOf(op.getBias()));
    scores = b.create<arith::AddFOp>(scores, regions.biases.toVector(bias));
  }
  Value nothing = b.splatF32(-std::numeric_limits<double>::infinity());
  if (!op.getMask().empty()) {
    regions.masks.bindLanes(op.getMask().getArgument(3), offset);
    SmallVector<Value> terms = mask.keyTerms;
    if (exactFill)
      terms.assign(1, yieldOf(op.getMask()));
    Value fill = exactFill ? b.splatF32(op.getFill().convertToDouble()) : nothing;
    for (Value term : terms)
      scores = b.create<arith::SelectOp>(regions.masks.emit(term), scores, fill);
  }
  return b.firstLanesOf(scores, chunkCount, nothing);
}

/// 16 products as f32, without the query's scale.
Value AttendScores::loadProducts(const Products &products, Value offset) {
  Type f32 = b.getF32Type();
  if (!products.scales)
    return b.loadVector(f32, address(products.row, offset));
  Value sums = b.create<arith::SIToFPOp>(b.vectorOf(f32), b.loadVector(b.getI32Type(), address(products.row, offset)));
  return b.create<arith::MulFOp>(sums, b.loadVector(f32, address(products.scales->keys, offset)));
}

Value AttendScores::largestProduct(const Products &products) {
  Value lowest = b.splat(identity(b, ReduceKind::max, b.getF32Type()));
  Value largest = accumulateChunks(b, products.begin, products.end, lowest, [&](Value offset, Value count, Value before) {
    Value own = loadProducts(products, offset);
    if (count)
      own = b.create<arith::SelectOp>(b.firstLanes(count), own, lowest);
    return combine(b, ReduceKind::max, own, before);
  });
  return reduceLanes(b, ReduceKind::max, largest);
}

/// Puts scores in the place of the products, and returns the largest.
Value AttendScores::storeScores(const Products &products, const Regions &regions, Value scale) {
  Value lowest = b.splat(identity(b, ReduceKind::max, b.getF32Type()));
  Value largest = accumulateChunks(b, products.begin, products.end, lowest, [&](Value offset, Value count, Value before) {
    chunkStart = offset, chunkCount = count;
    Value scores = score(regions, loadProducts(products, offset), scale, offset);
    b.storeVector(scores, address(products.row, offset));
    return combine(b, ReduceKind::max, scores, before);
  });
  return reduceLanes(b, ReduceKind::max, largest);
}

/// Replaces scores by the exponentials of what they exceed `shift` by, and returns their sum. The scores are stored in the row, or, if `scale`
/// is not null, they are the row's products times `scale`.
Value AttendScores::storeExponentials(const Products &products, Value shift, Value scale) {
  Type f32 = b.getF32Type();
  Value sums = accumulateChunks(b, products.begin, products.end, b.splatF32(0), [&](Value offset, Value count, Value before) {
    Value scores = scale ? b.create<arith::MulFOp>(loadProducts(products, offset), scale).getResult()
                         : b.loadVector(f32, address(products.row, offset));
    Value difference = b.create<arith::SubFOp>(scores, shift);
    Value exponentials = isNarrow ? shortBoundedExp(b, difference) : boundedExp(b, difference);
    if (count && scale)
      exponentials = b.create<arith::SelectOp>(b.firstLanes(count), exponentials, b.splatF32(0));
    // A vector's exponentials take half of the room of its scores: they end before those that are still to be read.
    if (isNarrow && !products.scales)
      b.storeVector(narrowToBF16(b, exponentials), b.at(products.row, offset, b.getBF16Type()));
    else
      b.storeVector(exponentials, address(products.row, offset));
    return combine(b, ReduceKind::sum, exponentials, before);
  });
  return reduceLanes(b, ReduceKind::sum, sums);
}

AttendScores::Row AttendScores::emit(const Products &products, Value width, const Query &query) {
  Type f32 = b.getF32Type();
  Value scale = b.f32(op.getScale().convertToDouble());
  if (products.scales)
    scale = b.create<arith::MulFOp>(products.scales->query, scale);
  Value scaleLanes = b.splat(scale);
  Regions regions = regionsFor(query);
  // Without regions to evaluate, scores need not be stored: the largest is that of the largest product.
  bool isPlain = op.getBias().empty() && op.getScore().empty() && !exactFill && mask.keyTerms.empty() && op.getScale().convertToDouble() > 0;
  Value largest = isPlain ? largestProduct(products) : storeScores(products, regions, scaleLanes);
  tables.clear();
  Value isNumber = b.create<arith::CmpFOp>(arith::CmpFPredicate::OGT, largest, identity(b, ReduceKind::max, f32));
  if (isPlain)
    largest = b.create<arith::MulFOp>(largest, scale);
  Value shift = b.splat(b.create<arith::SelectOp>(isNumber, largest, b.f32(0)));
  Value sum = storeExponentials(products, shift, isPlain ? scaleLanes : Value());
  // Scores that are NaN are not the largest, but make the sum NaN.
  Value any = b.create<arith::OrIOp>(isNumber, b.create<arith::CmpFOp>(arith::CmpFPredicate::UNO, sum, sum));
  Value reciprocal = b.create<arith::DivFOp>(b.f32(1), b.create<arith::SelectOp>(any, sum, b.f32(1)));
  if (!products.scales)
    finish(products, width, reciprocal);
  return {any, reciprocal};
}

/// Divides by the sum, unless that is left for later, and zeroes what lies behind the row's keys.
void AttendScores::finish(const Products &products, Value width, Value reciprocal) {
  Type f32 = b.getF32Type();
  Value used = b.mul(b.ceilDiv(products.end, kLanes), kLanes);
  if (isNarrow) {
    Value zeros = b.splat(b.create<arith::ConstantOp>(b.getI16IntegerAttr(0)));
    b.loop(used, width, kLanes, [&](Value offset) { b.storeVector(zeros, b.at(products.row, offset, b.getBF16Type())); });
    return;
  }
  b.loop(products.begin, used, kLanes, [&](Value offset) {
    Value exponentials = b.loadVector(f32, address(products.row, offset));
    b.storeVector(b.create<arith::MulFOp>(exponentials, b.splat(reciprocal)), address(products.row, offset));
  });
  b.loop(used, width, kLanes, [&](Value offset) { b.storeVector(b.splatF32(0), address(products.row, offset)); });
}

} // namespace xf::cpu
