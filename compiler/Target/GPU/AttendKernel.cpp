#include "compiler/Target/GPU/AttendKernel.h"

#include "compiler/Target/VectorMath.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf::gpu {

AttendKernel::AttendKernel(GpuBuilder builder, AttendOp op, const KernelRequest &request)
    : b(builder), op(op), request(request), q(request.viewOf(op.getQ())), k(request.viewOf(op.getK())), v(request.viewOf(op.getV())),
      out(request.resultView()), spans(op.getSpans() ? std::optional(request.viewOf(op.getSpans())) : std::nullopt),
      heads(typeOf(op.getQ()).getDimSize(1)), ratio(heads / typeOf(op.getK()).getDimSize(1)), width(typeOf(op.getQ()).getDimSize(3)),
      valueWidth(typeOf(op.getV()).getDimSize(3)), f32(b.getF32Type()), factorType(typeOf(op.getQ()).getElementType()),
      lowest(codegen::identity(b, ReduceKind::max, f32)) {}

void AttendKernel::takeSentence(Value sentence) {
  batch = sentence, keyCount = b.size(k, 2), queries = b.size(q, 2);
  if (!spans)
    return;
  std::tie(start, keyCount) = loadSpan(b, *spans, sentence);
  queries = keyCount;
}

Value AttendKernel::isAny(const Softmax &all) {
  Value isNumber = b.create<arith::CmpFOp>(arith::CmpFPredicate::OGT, all.max, lowest);
  return b.either(isNumber, b.create<arith::CmpFOp>(arith::CmpFPredicate::UNO, all.sum, all.sum));
}

Value AttendKernel::exponential(Value score, Value max) {
  Value isNumber = b.create<arith::CmpFOp>(arith::CmpFPredicate::OGT, max, lowest);
  Value shift = b.create<arith::SelectOp>(isNumber, max, b.f32(0));
  return codegen::boundedExp(b, b.create<arith::SubFOp>(score, shift));
}

Value AttendKernel::sumOfTile(ArrayRef<Value> exponentials, int64_t lanes) {
  SmallVector<Value> sums(exponentials);
  for (; sums.size() > 1; sums.truncate(sums.size() / 2))
    for (size_t i = 0; i < sums.size() / 2; ++i)
      sums[i] = b.create<arith::AddFOp>(sums[i], sums[i + sums.size() / 2]);
  return b.reduceOver(ReduceKind::sum, sums[0], lanes);
}

AttendKernel::Joined AttendKernel::join(const Softmax &before, const Softmax &tile) {
  Joined joined;
  joined.all.max = codegen::combine(b, ReduceKind::max, tile.max, before.max);
  joined.before = exponential(before.max, joined.all.max);
  joined.tile = exponential(tile.max, joined.all.max);
  Value rest = b.create<arith::MulFOp>(before.sum, joined.before);
  joined.all.sum = codegen::fusedMultiplyAdd(b, tile.sum, joined.tile, rest);
  return joined;
}

/// A tile without an allowed key, which may lie past the row's end, changes nothing, not even the sign of a zero.
Value AttendKernel::joinContext(Value before, Value weightBefore, Value tile, Value weightTile) {
  Value joined = codegen::fusedMultiplyAdd(b, tile, weightTile, b.create<arith::MulFOp>(before, weightBefore));
  Value none = b.create<arith::CmpFOp>(arith::CmpFPredicate::OEQ, weightTile, b.f32(0));
  return b.create<arith::SelectOp>(none, before, joined);
}

Value AttendKernel::factorOf(const Softmax &all) {
  return b.create<arith::DivFOp>(b.f32(1), b.create<arith::SelectOp>(isAny(all), all.sum, b.f32(1)));
}

Value AttendKernel::probabilityWithoutKeys() {
  if (op.getMask().empty())
    return b.f32(std::numeric_limits<double>::quiet_NaN());
  if (!op.getFill().isFinite())
    return b.f32(0);
  return b.create<arith::DivFOp>(b.f32(1), b.create<arith::SIToFPOp>(f32, keyCount));
}

void AttendKernel::storeProbability(Value position, Value key, Value end, const Softmax &all, Value factor, Value any) {
  Value address = probabilityAt(position, key);
  auto ofScore = [&] { return b.create<arith::MulFOp>(exponential(b.load(f32, address), all.max), factor); };
  Value found = b.chooseOne(b.less(key, end), ofScore, [&] { return b.f32(0); });
  b.store(mayLackKeys() ? b.create<arith::SelectOp>(any, found, probabilityWithoutKeys()).getResult() : found, address);
}

Value AttendKernel::contextWithoutKeys(Value values, Value column) {
  Value probability = probabilityWithoutKeys();
  return b.loop(b.i64(0), keyCount, 1, b.f32(0), [&](Value key, ValueRange carried) -> SmallVector<Value> {
    return {codegen::fusedMultiplyAdd(b, probability, loadValue(values, key, column), carried[0])};
  })[0];
}

Value AttendKernel::firstOf(Value begin) {
  if (getConstantIntValue(begin))
    return begin;
  return b.inHalf(b.reduceOver(b.narrow(begin), kWarp, [&](Value x, Value y) { return b.create<arith::MinSIOp>(x, y).getResult(); }));
}

Value AttendKernel::headStart(unsigned view, Value tensor) {
  Value sentence = batch;
  if (auto slots = request.slotsOf(tensor))
    sentence = loadIndex(b, *slots, batch);
  Value offset = b.add(b.mul(sentence, b.stride(view, 0)), b.mul(b.div(head, b.i64(ratio)), b.stride(view, 1)));
  return b.at(b.data(view), offset, factorType);
}

Value AttendKernel::element(unsigned view, Value position, Value column, Type type) {
  int64_t stride = request.access.lastStride[view];
  Value step = ShapedType::isDynamic(stride) ? b.stride(view, 3) : b.i64(stride);
  Value row = b.mul(head, b.stride(view, 1));
  if (spans)
    position = b.add(start, position);
  else
    row = b.add(b.mul(batch, b.stride(view, 0)), row);
  return b.at(b.data(view), b.add(b.add(row, b.mul(position, b.stride(view, 2))), b.mul(column, step)), type);
}

Value AttendKernel::loadValue(Value values, Value key, Value column) {
  // Neighbouring positions share a word.
  int64_t group = panelGroup(factorType);
  Value inWord = group == 1 ? b.i64(0) : b.rem(key, b.i64(group));
  Value offset = b.add(b.mul(b.sub(key, inWord), b.stride(v, 2)), b.add(b.mul(column, group), inWord));
  Value loaded = b.load(factorType, b.at(values, offset, factorType));
  return factorType.isF32() ? loaded : codegen::widenFrom(b, loaded, factorType);
}

void AttendKernel::storeContextAt(Value context, Value position, Value column) {
  Type type = typeOf(op.getOutput()).getElementType();
  b.store(type.isF32() ? context : codegen::narrowTo(b, context, type), element(out, position, column, type));
}

LogicalResult emitAttend(AttendOp op, const KernelRequest &request, Kernel &kernel) {
  // A decoder's step has one query a sentence.
  constexpr int64_t kFewQueries = 4;
  unsigned q = request.viewOf(op.getQ());
  int64_t heads = typeOf(op.getQ()).getDimSize(1);
  std::string few = (request.name + "_few").str(), many = (request.name + "_many").str();
  bool isTensor = !typeOf(op.getQ()).getElementType().isF32();
  int64_t rows = isTensor ? kTensorRows : kAttendRows;
  int64_t columns = typeOf(op.getV()).getDimSize(3);
  int64_t slices = isTensor ? llvm::divideCeil(columns, tensorColumns(typeOf(op.getQ()).getDimSize(3))) : 1;
  (isTensor ? emitTensorAttendMany : emitAttendMany)(request.start(many, kAttendThreads, op.getLoc()), op, request);
  if (op.getSpans()) {
    // Sentences have many queries.
    unsigned spans = request.viewOf(op.getSpans()), k = request.viewOf(op.getK());
    kernel.launches.push_back({many, kAttendThreads, {{spans, 0, 1}, {k, 2, rows}}, 1, heads * slices, std::nullopt});
    return success();
  }
  // Where there are enough queries to keep the GPU busy, each has a single warp: most have fewer keys than several warps take at a time. The
  // context of wide heads would not fit one warp's registers.
  constexpr int64_t kFewBlocks = 256, kWidest = 128;
  auto addFew = [&](StringRef name, int64_t maxWarps, int64_t maxBlocks) -> LogicalResult {
    FailureOr<int64_t> threads = emitAttendFew(op, request, name, maxWarps);
    if (failed(threads))
      return failure();
    kernel.launches.push_back({name.str(), *threads, {{q, 0, 1}, {q, 2, 1}}, 1, heads, Launch::Limit{q, 2, kFewQueries}, 0, maxBlocks});
    return success();
  };
  bool hasAlone = std::max(columns, typeOf(op.getQ()).getDimSize(3)) <= kWidest;
  if (failed(addFew(few, 16, hasAlone ? kFewBlocks : 0)) || (hasAlone && failed(addFew((request.name + "_alone").str(), 1, 0))))
    return failure();
  kernel.launches.push_back({many, kAttendThreads, {{q, 0, 1}, {q, 2, rows}}, 1, heads * slices, std::nullopt});
  return success();
}

} // namespace xf::gpu
