#include "compiler/Target/CPU/AttendBlock.h"

#include "compiler/Target/CPU/BlockProduct.h"
#include "compiler/Target/CPU/Chunks.h"
#include "compiler/Target/CPU/FactorArithmetic.h"
#include "compiler/Target/CPU/HeadProduct.h"
#include "compiler/Target/VectorMath.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf::cpu {

static int64_t roundUp(int64_t n) { return llvm::alignTo(n, kLanes); }

/// The most rows of a block: a tile's, or heads.
static int64_t maxRows(int64_t tileRows) { return std::max(tileRows, kMaxHeads); }

static int64_t largestSize(Value tensor, unsigned d, ModuleOp root) {
  auto type = typeOf(tensor);
  return type.isDynamicDim(d) ? getBound(root, getDimName(type, d)).value_or(0) : type.getDimSize(d);
}

bool mayShareStates(AttendOp op) {
  auto keys = op.getK().getDefiningOp<LoadOp>(), values = op.getV().getDefiningOp<LoadOp>();
  return keys && values && keys.getSlots() == values.getSlots();
}

AttendScratch::AttendScratch(AttendOp op, ModuleOp root, int64_t tileRows) : sorted(mayShareStates(op) ? largestSize(op.getQ(), 0, root) : 0) {
  int64_t rows = maxRows(tileRows);
  // A row length off powers of two, with which rows would share cache sets.
  stripRow = roundUp(largestSize(op.getK(), 2, root)) + kLanes;
  contextRow = roundUp(typeOf(op.getV()).getDimSize(3));
  queryRow = roundUp(typeOf(op.getQ()).getDimSize(3));
  context = rows * stripRow;
  query = context + rows * contextRow;
  order = query + rows * queryRow;
  int16 = order + llvm::alignTo(SentenceOrder::words(sorted), kLanes);
  total = int16 + (suitsInt16(op) ? AttendInt16::Scratch(op).total : 0);
}

/// The factors that `isa` multiplies.
static Factor factorOf(Isa isa, AttendOp op) {
  Type element = typeOf(op.getQ()).getElementType();
  return attendsInInt16(isa, op) ? Factor::i16 : factorOf(element, element);
}

AttendBlocks::AttendBlocks(KernelBuilder &b, AttendOp op, const KernelRequest &request)
    : b(b), op(op), request(request), scores(b, op, request), element(typeOf(op.getQ()).getElementType()), factor(factorOf(b.isa(), op)),
      group(panelGroup(element)), tileRows(largestTile(b.isa(), factor).rows), layout(op, request.root, tileRows),
      order(b, b.at(b.scratch(), layout.order, b.getF32Type()), layout.sorted),
      spans(op.getSpans() ? std::optional(request.viewOf(op.getSpans())) : std::nullopt), q(request.viewOf(op.getQ())), k(request.viewOf(op.getK())),
      v(request.viewOf(op.getV())), out(request.resultView()), width(typeOf(op.getQ()).getDimSize(3)), valueWidth(typeOf(op.getV()).getDimSize(3)),
      heads(typeOf(op.getQ()).getDimSize(1)), ratio(heads / typeOf(op.getK()).getDimSize(1)), together(headsTogether(b.isa(), heads, ratio, width)),
      keyCount(b.size(k, 2)), ends(b.stack(b.i64Type(), maxRows(tileRows))) {
  if (factor != Factor::f32)
    reciprocals = b.stack(b.getF32Type(), maxRows(tileRows));
  if (factor == Factor::i16) {
    queryScales = b.stack(b.getF32Type(), tileRows);
    int16.emplace(b, op, b.at(b.scratch(), layout.int16, b.getF32Type()));
  }
}

Query AttendBlocks::query(const Block &block, Value row) {
  switch (block.kind) {
  case Queries::ofHeads:
    return {block.batch, b.add(block.head, row), block.first};
  case Queries::ofBeams:
    return {order.rowAt(b.add(block.batch, row)), block.head, block.first};
  case Queries::ofPositions:
    return {block.batch, block.head, b.add(block.first, row)};
  }
  llvm_unreachable("unknown queries");
}

Value AttendBlocks::rowAddress(unsigned view, Type type, const Block &block, Value row) {
  Query at = query(block, row);
  Value batch = spans ? b.i64(0) : at.batch, position = spans ? b.add(start, at.position) : at.position;
  Value offset = b.add(b.mul(batch, b.stride(view, 0)), b.mul(at.head, b.stride(view, 1)));
  return b.at(b.data(view), b.add(offset, b.mul(position, b.stride(view, 2))), type);
}

Value AttendBlocks::stateRow(Value tensor, Value row) {
  auto slots = request.slotsOf(tensor);
  return slots ? b.loadIndex(*slots, row) : row;
}

/// The keys or values of the block's head.
Value AttendBlocks::headStart(unsigned view, Value tensor, const Block &block) {
  Value row = stateRow(tensor, query(block, b.i64(0)).batch);
  Value head = b.div(block.head, b.i64(ratio));
  Value offset = b.add(b.mul(row, b.stride(view, 0)), b.mul(head, b.stride(view, 1)));
  return b.at(b.data(view), offset, element);
}

void AttendBlocks::findStates(Block &block) {
  block.keys = headStart(k, op.getK(), block);
  block.values = headStart(v, op.getV(), block);
}

/// Finds each row's end of keys and returns the last one.
Value AttendBlocks::findEnds(const Block &block) {
  Value keys = block.kind == Queries::ofBeams ? nullptr : scores.keysOfSentence(block.batch, keyCount);
  if (!hasEnds(block))
    return keys;
  return b.accumulate(b.i64(0), block.rows, 1, b.i64(0), [&](Value row, Value carried) {
    Query own = query(block, row);
    Value end = keys ? keys : scores.keysOfSentence(own.batch, keyCount);
    if (scores.hasEnds())
      end = scores.end(own, end);
    b.store(end, b.at(ends, row, b.i64Type()));
    return b.max(carried, end);
  });
}

/// Finds the first key that any row may see, of those before `end`, or one of the 15 before it: products take keys 16 at a time.
Value AttendBlocks::findBegin(const Block &block, Value end) {
  if (!scores.hasBegins())
    return b.i64(0);
  Value first = b.accumulate(b.i64(0), block.rows, 1, end, [&](Value row, Value carried) { return b.min(carried, scores.begin(query(block, row))); });
  return b.sub(first, b.rem(first, b.i64(kLanes)));
}

/// The block's keys and values as int16.
void AttendBlocks::quantizeStates(Block &block) {
  Value head = b.add(b.mul(block.batch, heads / ratio), b.div(block.head, ratio));
  int16->quantize(head, block.keys, block.values, keyCount);
  block.keys = int16->keys();
  block.values = int16->values();
}

void AttendBlocks::emitBlock(Block block, const Block *next) {
  if (int16)
    quantizeStates(block);
  Keys seen;
  seen.end = findEnds(block);
  seen.begin = findBegin(block, seen.end);
  multiplyKeys(block, next, seen);
  Value panels = b.ceilDiv(op.getProbabilities() ? keyCount : seen.end, kLanes);
  // A bit for each row, set if it has no key.
  Value lacking = b.accumulate(b.i64(0), block.rows, 1, b.i64(0), [&](Value row, Value carried) {
    Value hasKeys = emitSoftmax(block, row, seen, panels);
    Value bit = b.create<arith::ShLIOp>(b.i64(1), row);
    return b.create<arith::SelectOp>(hasKeys, carried, b.create<arith::OrIOp>(carried, bit));
  });
  multiplyValues(block, next, std::nullopt, seen);
  if (!mayLackKeys(op))
    return;
  b.ifThen(b.less(b.i64(0), lacking), [&] {
    b.loop(b.i64(0), block.rows, 1, [&](Value row) {
      Value bit = b.create<arith::AndIOp>(b.create<arith::ShRUIOp>(lacking, row), b.i64(1));
      b.ifThen(b.equal(bit, b.i64(1)), [&] { emitRowWithoutKeys(block, row); });
    });
  });
}

/// Turns a row's products into probabilities or exponentials, in all of `panels` panels of keys. Returns whether it has any key.
Value AttendBlocks::emitSoftmax(const Block &block, Value row, const Keys &seen, Value panels) {
  Value end = hasEnds(block) ? b.load(b.i64Type(), b.at(ends, row, b.i64Type())) : seen.end;
  if (scores.hasBegins())
    end = b.max(end, seen.begin);
  Value width = b.mul(panels, kLanes);
  std::optional<AttendScores::Scales> scales;
  if (int16)
    scales = {b.load(b.getF32Type(), queryScale(row)), int16->keyScales()};
  AttendScores::Row made = scores.emit({strip(row), seen.begin, end, scales}, width, query(block, row));
  if (int16)
    made.reciprocal = b.create<arith::MulFOp>(made.reciprocal, int16->quantizeExponentials(strip(row), seen.begin, end, width));
  storeProbabilities(block, row);
  if (reciprocals)
    b.store(made.reciprocal, reciprocal(row));
  return made.any;
}

/// Copies the block's queries to rows of scratch.
void AttendBlocks::copyQueries(const Block &block, Value target) {
  int64_t stride = request.access.lastStride[q];
  b.loop(b.i64(0), block.rows, 1, [&](Value row) {
    Value from = rowAddress(q, element, block, row), to = b.at(target, b.mul(row, layout.queryRow), element);
    forChunks(b, b.i64(width), [&](Value offset, Value count) {
      Value column = b.at(from, b.mul(offset, b.stride(q, 3)), element);
      b.storeVector(b.loadStrided(element, column, stride, b.stride(q, 3), count), b.at(to, offset, element));
    });
  });
}

/// Bytes from one address to another.
static Value bytesBetween(CodeBuilder &b, Value from, Value to) {
  auto toInteger = [&](Value address) { return b.create<LLVM::PtrToIntOp>(b.getI64Type(), address); };
  return b.sub(toInteger(to), toInteger(from));
}

/// Makes a product prefetch meanwhile panels as deep as its own, which begin at `start`.
static void prefetchNext(CodeBuilder &b, ProductOperands &operands, Value start) {
  operands.ahead = start, operands.aheadPanel = b.mul(operands.depth, kLineBytes), operands.aheadStep = b.i64(kLineBytes);
}

void AttendBlocks::multiplyKeys(const Block &block, const Block *next, const Keys &seen) {
  Value firstPanel = b.div(seen.begin, kLanes), panels = b.sub(b.ceilDiv(seen.end, kLanes), firstPanel), depth = b.i64(width / group);
  auto fromFirst = [&](Value keys) { return b.at(keys, b.mul(firstPanel, width * kLanes), element); };
  Value copy = b.at(b.scratch(), layout.query, b.getF32Type()), keys = fromFirst(block.keys),
        products = b.at(b.scratch(), seen.begin, b.getF32Type());
  bool isCopied = int16 || block.kind != Queries::ofPositions || request.access.lastStride[q] != 1;
  if (isCopied)
    copyQueries(block, copy);
  if (int16)
    b.loop(b.i64(0), block.rows, 1,
           [&](Value row) { b.store(int16->quantizeQuery(b.at(copy, b.mul(row, layout.queryRow), element)), queryScale(row)); });
  if (block.kind == Queries::ofHeads) {
    emitHeadProduct(b, {.kind = {factor},
                        .heads = together,
                        .ratio = ratio,
                        .a = copy,
                        .aStride = layout.queryRow,
                        .b = keys,
                        .headStride = b.stride(k, 1),
                        .panelStride = width * kLanes,
                        .c = products,
                        .cStride = layout.stripRow,
                        .depth = depth,
                        .panels = panels,
                        .ahead = next ? bytesBetween(b, block.keys, next->keys) : Value()});
    return;
  }
  ProductOperands operands{.rows = block.rows,
                           .a = isCopied ? copy : rowAddress(q, element, block, b.i64(0)),
                           .lda = isCopied ? b.i64(layout.queryRow) : b.stride(q, 2),
                           .b = keys,
                           .panelStride = b.i64(width * kLanes),
                           .c = products,
                           .ldc = b.i64(layout.stripRow),
                           .depth = depth,
                           .panels = panels};
  if (next)
    prefetchNext(b, operands, fromFirst(next->keys));
  callBlockProduct(b, operands, {factor});
}

/// The context of all rows or one of them, from probabilities or exponentials of the keys that are `seen`.
void AttendBlocks::multiplyValues(const Block &block, const Block *next, std::optional<Value> onlyRow, const Keys &seen) {
  Type f32 = b.getF32Type();
  Context context{onlyRow.value_or(b.i64(0)), onlyRow ? b.i64(1) : block.rows};
  bool isInPlace = !reciprocals && (onlyRow || block.kind == Queries::ofPositions) && valueWidth % kLanes == 0 && request.access.lastStride[out] == 1;
  context.start = isInPlace ? rowAddress(out, f32, block, context.firstRow) : b.at(b.scratch(), layout.context, f32);
  context.stride = isInPlace ? b.stride(out, 2) : b.i64(layout.contextRow);
  PanelKind kind{.factor = factor, .pitch = roundUp(valueWidth) / kLanes};
  Value count = b.sub(seen.end, seen.begin), panels = b.i64(kind.pitch), depth = int16 ? b.ceilDiv(count, group) : b.div(count, group);
  auto fromFirst = [&](Value values) { return b.at(values, b.mul(seen.begin, layout.contextRow), element); };
  auto exponentials = [&](Value row) { return b.at(strip(row), seen.begin, element); };
  if (block.kind == Queries::ofHeads && !onlyRow) {
    emitHeadProduct(b, {.kind = kind,
                        .heads = together,
                        .ratio = ratio,
                        .a = exponentials(b.i64(0)),
                        .aStride = stripStride(),
                        .b = fromFirst(block.values),
                        .headStride = b.stride(v, 1),
                        .panelStride = kLanes * group,
                        .c = context.start,
                        .cStride = layout.contextRow,
                        .depth = depth,
                        .panels = panels,
                        .ahead = next ? bytesBetween(b, block.values, next->values) : Value()});
  } else {
    Value values = valuesOf(block, context.firstRow);
    ProductOperands operands{.rows = context.rows,
                             .a = exponentials(context.firstRow),
                             .lda = b.i64(stripStride()),
                             .b = fromFirst(values),
                             .panelStride = b.i64(kLanes * group),
                             .c = context.start,
                             .ldc = context.stride,
                             .depth = depth,
                             .panels = panels};
    if (next)
      prefetchNext(b, operands, fromFirst(next->values));
    callBlockProduct(b, operands, kind);
  }
  if (isInPlace)
    return;
  if (group > 1 && !int16)
    b.ifThen(b.less(b.mul(depth, group), count), [&] { addHalfWord(block, context, b.sub(seen.end, 1)); });
  storeContext(block, context);
}

/// The values that a row of the block is multiplied with: those of its head.
Value AttendBlocks::valuesOf(const Block &block, Value row) {
  if (block.kind != Queries::ofHeads)
    return block.values;
  return b.at(block.values, b.mul(b.div(row, b.i64(ratio)), b.stride(v, 1)), element);
}

/// Copies the context to the result, times the reciprocals of the rows' sums if these are still to be applied.
void AttendBlocks::storeContext(const Block &block, const Context &context) {
  Type f32 = b.getF32Type(), result = typeOf(op.getOutput()).getElementType();
  b.loop(b.i64(0), context.rows, 1, [&](Value row) {
    Value from = b.at(context.start, b.mul(row, context.stride), f32), to = rowAddress(out, result, block, b.add(context.firstRow, row));
    Value factor = reciprocals ? b.splat(b.load(f32, reciprocal(b.add(context.firstRow, row)))) : Value();
    forChunks(b, b.i64(valueWidth), [&](Value offset, Value count) {
      Value sums = b.loadVector(int16 ? b.getI32Type() : f32, b.at(from, offset, f32));
      if (int16)
        sums = b.create<arith::SIToFPOp>(b.vectorOf(f32), sums);
      if (factor)
        sums = b.create<arith::MulFOp>(sums, factor);
      if (result.isBF16())
        sums = narrowToBF16(b, sums);
      Value column = b.at(to, b.mul(offset, b.stride(out, 3)), result);
      b.storeStrided(sums, column, request.access.lastStride[out], b.stride(out, 3), count);
    });
  });
}

/// Adds the last of an odd number of keys by itself: the value in the other half of its word is another sentence's or padding, and may be
/// anything, infinite, too.
void AttendBlocks::addHalfWord(const Block &block, const Context &context, Value last) {
  FactorArithmetic arithmetic(b, factor);
  Type f32 = b.getF32Type();
  b.loop(b.i64(0), context.rows, 1, [&](Value row) {
    Value blockRow = b.add(context.firstRow, row), values = valuesOf(block, blockRow);
    auto exponential = arithmetic.loadRow(b.at(strip(blockRow), last, element), /*count=*/1);
    for (int64_t column = 0; column < layout.contextRow; column += kLanes) {
      Value address = b.at(context.start, b.add(b.mul(row, layout.contextRow), column), f32);
      auto panelWords = arithmetic.loadPanel(b.at(values, b.add(b.mul(last, layout.contextRow), column * group), element), /*count=*/1);
      b.storeVector(arithmetic.multiplyAdd(exponential, panelWords, b.loadVector(f32, address)), address);
    }
  });
}

void AttendBlocks::storeProbabilities(const Block &block, Value row) {
  if (!op.getProbabilities())
    return;
  Type f32 = b.getF32Type();
  unsigned view = out + 1;
  Value from = strip(row), to = rowAddress(view, f32, block, row);
  forChunks(b, keyCount, [&](Value offset, Value count) {
    Value element = b.at(to, b.mul(offset, b.stride(view, 3)), f32);
    b.storeStrided(b.loadVector(f32, b.at(from, offset, f32)), element, request.access.lastStride[view], b.stride(view, 3), count);
  });
}

/// A row to which the mask leaves no key: all keys get the same probability.
void AttendBlocks::emitRowWithoutKeys(const Block &block, Value row) {
  Value probability = scores.rowWithoutKeys(keyCount);
  Type stored = int16 ? b.getF32Type() : element;
  Value each = int16 ? b.f32(1) : reciprocals ? narrowToBF16(b, b.f32(1)) : probability;
  b.loop(b.i64(0), keyCount, kLanes, [&](Value offset) { b.storeVector(b.splat(each), b.at(strip(row), offset, stored)); });
  if (int16)
    probability = b.create<arith::MulFOp>(probability, int16->quantizeExponentials(strip(row), b.i64(0), keyCount, keyCount));
  if (reciprocals)
    b.store(probability, reciprocal(row));
  storeProbabilities(block, row);
  multiplyValues(block, nullptr, row, {b.i64(0), keyCount});
}

int64_t attendScratchBytes(AttendOp op, Isa isa, ModuleOp root) {
  return AttendScratch(op, root, largestTile(isa, factorOf(isa, op)).rows).total * sizeof(float);
}

} // namespace xf::cpu
