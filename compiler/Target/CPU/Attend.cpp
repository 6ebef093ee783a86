// The kernel of xf.attend. A task is a few query rows of one head of one sentence: products with the keys into a strip
// of scratch that stays in L1 or L2, softmax in place, product with the values. Where a sentence has one query only, as in
// a decoder's step, a task is a few heads' query instead. Threads take contiguous ranges of tasks.
//
// An element of the context is one chain of multiply-adds over ascending keys, and masked keys have probability 0, so
// that neither the rows beside it nor keys behind its own end change its bits.
//
// With factors of bf16 the strip holds exponentials, and the context is divided by their sum when it is stored.
#include "compiler/Target/CPU/AttendScores.h"
#include "compiler/Target/CPU/BlockProduct.h"
#include "compiler/Target/CPU/Chunks.h"
#include "compiler/Target/CPU/FactorArithmetic.h"
#include "compiler/Target/CPU/HeadCopy.h"
#include "compiler/Target/CPU/HeadProduct.h"
#include "compiler/Target/CPU/StridedCopy.h"
#include "compiler/Target/CPU/VectorMath.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf::cpu {
namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }
int64_t roundUp(int64_t n) { return llvm::alignTo(n, kLanes); }

/// Where a thread's scratch holds what: offsets in floats, row lengths in elements. Rows of bf16 have room for floats.
struct ScratchLayout {
  ScratchLayout(AttendOp op, int64_t keys, int64_t rows) {
    // Rows off powers of two, which would share cache sets.
    stripRow = roundUp(keys) + kLanes;
    contextRow = roundUp(typeOf(op.getV()).getDimSize(3));
    queryRow = roundUp(typeOf(op.getQ()).getDimSize(3));
    context = rows * stripRow;
    query = context + rows * contextRow;
    total = query + rows * queryRow;
  }
  int64_t stripRow, contextRow, queryRow, context, query, total;
};

/// Of a block: a tile's rows, or heads.
int64_t mostRows(int64_t tileRows) { return std::max(tileRows, kMostHeads); }

int64_t largestKeys(AttendOp op, ModuleOp root) {
  auto type = typeOf(op.getK());
  return type.isDynamicDim(2) ? getBound(root, getDimName(type, 2)).value_or(0) : type.getDimSize(2);
}

class AttendEmitter {
public:
  AttendEmitter(KernelBuilder &b, AttendOp op, const KernelRequest &request)
      : b(b), op(op), request(request), scores(b, op, request), element(typeOf(op.getQ()).getElementType()),
        factor(factorOf(element, element)), group(panelGroup(element)), tileRows(largestTile(b.isa(), factor).rows),
        layout(op, largestKeys(op, request.root), mostRows(tileRows)),
        spans(op.getSpans() ? std::optional(request.viewOf(op.getSpans())) : std::nullopt),
        q(request.viewOf(op.getQ())), k(request.viewOf(op.getK())), v(request.viewOf(op.getV())), out(request.resultView()),
        width(typeOf(op.getQ()).getDimSize(3)), valueWidth(typeOf(op.getV()).getDimSize(3)),
        heads(typeOf(op.getQ()).getDimSize(1)), ratio(heads / typeOf(op.getK()).getDimSize(1)),
        together(headsTogether(b.isa(), heads, ratio, width)) {}

  void emit();

private:
  /// A few query rows of one head, from `first` on; or, `byHead`, the only query of a few heads from `head` on.
  struct Block {
    bool byHead;
    Value batch, head, first, rows; // i64
    Value keys, values;             // addresses of the (first) head's
  };

  void emitTasks(bool byHead);
  void emitSpans();
  void appendOne(const Block &block);
  void appendOne(const Block &block, Value tensor, unsigned view, Layout layout);
  /// `next` is what the thread does behind it, or null where that is not to be fetched.
  void emitBlock(const Block &block, const Block *next);
  Value headStart(unsigned view, Value tensor, const Block &block);
  Value findEnds(const Block &block);
  void fetch(const Block &block, Value end);
  void multiplyKeys(const Block &block, Value end);
  void multiplyValues(const Block &block, std::optional<Value> onlyRow, Value end);
  void addHalfWord(const Block &block, Value firstRow, Value rows, Value last, Value target);
  void storeProbabilities(const Block &block, Value row);
  void emitRowWithoutKeys(const Block &block, Value row);

  Value strip(Value row) { return b.at(b.scratch(), b.mul(row, layout.stripRow), b.getF32Type()); }
  /// Of the strip's rows, in elements of factors.
  int64_t stripStride() { return layout.stripRow * group; }
  Value reciprocal(Value row) { return b.at(reciprocals, row, b.getF32Type()); }
  /// A row of a tensor of `type`, of which view `view` is.
  Value rowAddress(unsigned view, Type type, const Block &block, Value row) {
    Query at = query(block, row);
    Value batch = spans ? b.i64(0) : at.batch, position = spans ? b.add(start, at.position) : at.position;
    Value offset = b.add(b.mul(batch, b.stride(view, 0)), b.mul(at.head, b.stride(view, 1)));
    return b.at(b.data(view), b.add(offset, b.mul(position, b.stride(view, 2))), type);
  }
  Query query(const Block &block, Value row) {
    if (block.byHead)
      return {block.batch, b.add(block.head, row), block.first};
    return {block.batch, block.head, b.add(block.first, row)};
  }
  void copyQueries(const Block &block, Value target);

  KernelBuilder &b;
  AttendOp op;
  const KernelRequest &request;
  AttendScores scores;
  Type element; // of queries, keys and values
  Factor factor;
  int64_t group;    // elements of a word
  int64_t tileRows;
  ScratchLayout layout;
  std::optional<unsigned> spans;
  unsigned q, k, v, out;
  int64_t width, valueWidth, heads;
  int64_t ratio;    // query heads that share keys and values
  int64_t together; // heads in a task where there is one query
  Value keyCount, ends; // `ends` is where the rows' ends are kept, if they differ
  Value start;          // with spans: the first position of the task's sentence
  Value reciprocals;    // and their sums' reciprocals, if they have not been used yet
};

void AttendEmitter::emit() {
  keyCount = b.size(k, 2);
  ends = b.stack(b.i64Type(), mostRows(tileRows));
  if (factor != Factor::f32)
    reciprocals = b.stack(b.getF32Type(), mostRows(tileRows));
  if (spans)
    return emitSpans();
  if (together == 1)
    return emitTasks(false);
  b.ifElse(
      b.equal(b.size(q, 2), b.i64(1)), [&] { emitTasks(true); }, [&] { emitTasks(false); });
}

void AttendEmitter::emitTasks(bool byHead) {
  int64_t rows = byHead ? together : tileRows;
  Value queries = b.size(q, 2), blocks = byHead ? b.i64(1) : b.ceilDiv(queries, rows);
  Value headBlocks = b.i64(byHead ? heads / together : heads);
  auto [first, end] = b.share(b.mul(b.mul(b.size(q, 0), headBlocks), blocks));
  auto place = [&](Block &block, Value head) {
    block.batch = b.div(head, headBlocks);
    block.head = b.mul(b.rem(head, headBlocks), byHead ? together : 1);
    block.keys = headStart(k, op.getK(), block);
    block.values = headStart(v, op.getV(), block);
  };
  b.loop(first, end, 1, [&](Value task) {
    Block block;
    block.byHead = byHead;
    Value head = byHead ? task : b.div(task, blocks);
    block.first = byHead ? b.i64(0) : b.mul(b.rem(task, blocks), rows);
    block.rows = byHead ? b.i64(rows) : b.min(b.i64(rows), b.sub(queries, block.first));
    place(block, head);
    if (!byHead) {
      if (together == 1) // else a single query is taken by heads
        b.ifThen(b.equal(queries, b.i64(1)), [&] { appendOne(block); });
      return emitBlock(block, nullptr);
    }
    appendOne(block);
    Block next = block;
    place(next, b.min(b.add(task, 1), b.sub(end, 1)));
    emitBlock(block, &next);
  });
}

/// Sentences of different lengths. Tasks are in the order of heads, so that threads get parts of the same sentences.
void AttendEmitter::emitSpans() {
  Value sentences = b.size(*spans, 0), blocks = b.ceilDiv(b.size(k, 2), tileRows);
  auto [first, end] = b.share(b.mul(b.mul(sentences, blocks), heads));
  b.loop(first, end, 1, [&](Value task) {
    Block block;
    block.byHead = false;
    block.batch = b.rem(task, sentences);
    Value rest = b.div(task, sentences);
    block.first = b.mul(b.rem(rest, blocks), tileRows);
    block.head = b.div(rest, blocks);
    std::tie(start, keyCount) = loadSpan(b, *spans, block.batch);
    block.rows = b.min(b.i64(tileRows), b.sub(keyCount, block.first));
    block.keys = headStart(k, op.getK(), block);
    block.values = headStart(v, op.getV(), block);
    b.ifThen(b.less(b.i64(0), block.rows), [&] { emitBlock(block, nullptr); });
  });
}

/// The keys or values of the block's head.
Value AttendEmitter::headStart(unsigned view, Value tensor, const Block &block) {
  Value row = block.batch;
  if (auto slots = request.slotsOf(tensor))
    row = b.toI64(b.load(b.getI32Type(), b.at(b.data(*slots), b.mul(row, b.stride(*slots, 0)), b.getI32Type())));
  Value head = b.div(block.head, b.i64(ratio));
  Value offset = b.add(b.mul(row, b.stride(view, 0)), b.mul(head, b.stride(view, 1)));
  return b.at(b.data(view), offset, element);
}

/// Writes the only new position of the block's heads to the states, where that was left to this kernel. No other task reads it:
/// each query head then has keys of its own.
void AttendEmitter::appendOne(const Block &block) {
  appendOne(block, op.getK(), k, Layout::keys);
  appendOne(block, op.getV(), v, Layout::values);
}

void AttendEmitter::appendOne(const Block &block, Value tensor, unsigned view, Layout layout) {
  AppendOp append = appendedBy(op, tensor);
  if (!append)
    return;
  // The state is followed by what is appended and the past.
  Place from{view + 1, request.access.lastStride[view + 1]}, to{view, request.access.lastStride[view]};
  to.past = view + 2;
  b.loop(b.i64(0), b.i64(block.byHead ? together : 1), 1, [&](Value i) {
    appendHead(b, typeOf(append.getX()), from, to, layout, block.batch, b.add(block.head, i));
  });
}

/// Finds each row's end of keys and returns the last one.
Value AttendEmitter::findEnds(const Block &block) {
  Value keys = scores.keysOfSentence(block.batch, keyCount);
  if (!scores.hasEnds())
    return keys;
  return b.loop(b.i64(0), block.rows, 1, b.i64(0), [&](Value row, ValueRange carried) -> SmallVector<Value> {
    Value end = scores.end(query(block, row), keys);
    b.store(end, b.at(ends, row, b.i64Type()));
    return {b.max(carried[0], end)};
  })[0];
}

/// Asks for the first `end` keys and values of the block's heads.
void AttendEmitter::fetch(const Block &block, Value end) {
  auto fetchLines = [&](Value start, Value lines) {
    b.loop(b.i64(0), lines, 1, [&](Value line) {
      b.prefetch(b.at(start, b.mul(line, kLanes * group), element), CodeBuilder::Cache::secondLevel);
    });
  };
  int64_t groups = llvm::divideCeil(together, ratio);
  for (int64_t i = 0; i < groups; ++i) {
    fetchLines(b.at(block.keys, b.mul(b.stride(k, 1), i), element), b.mul(b.ceilDiv(end, kLanes), width / group));
    fetchLines(b.at(block.values, b.mul(b.stride(v, 1), i), element), b.mul(b.ceilDiv(end, group), roundUp(valueWidth) / kLanes));
  }
}

void AttendEmitter::emitBlock(const Block &block, const Block *next) {
  if (next)
    fetch(*next, findEnds(*next));
  Value end = findEnds(block);
  multiplyKeys(block, end);
  Value panels = b.ceilDiv(op.getProbabilities() ? keyCount : end, kLanes);
  Value lacking = b.loop(b.i64(0), block.rows, 1, b.i64(0), [&](Value row, ValueRange carried) -> SmallVector<Value> {
    Value rowEnd = scores.hasEnds() ? b.load(b.i64Type(), b.at(ends, row, b.i64Type())) : end;
    AttendScores::Row made = scores.emit(strip(row), rowEnd, b.mul(panels, kLanes), query(block, row));
    storeProbabilities(block, row);
    if (reciprocals)
      b.store(made.reciprocal, reciprocal(row));
    Value bit = b.create<arith::ShLIOp>(b.i64(1), row);
    return {b.create<arith::SelectOp>(made.any, carried[0], b.create<arith::OrIOp>(carried[0], bit))};
  })[0];
  multiplyValues(block, std::nullopt, end);
  if (!mayLackKeys(op))
    return;
  b.ifThen(b.less(b.i64(0), lacking), [&] {
    b.loop(b.i64(0), block.rows, 1, [&](Value row) {
      Value bit = b.create<arith::AndIOp>(b.create<arith::ShRUIOp>(lacking, row), b.i64(1));
      b.ifThen(b.equal(bit, b.i64(1)), [&] { emitRowWithoutKeys(block, row); });
    });
  });
}

/// Copies the block's queries to rows of scratch.
void AttendEmitter::copyQueries(const Block &block, Value target) {
  int64_t stride = request.access.lastStride[q];
  b.loop(b.i64(0), block.rows, 1, [&](Value row) {
    Value from = rowAddress(q, element, block, row), to = b.at(target, b.mul(row, layout.queryRow), element);
    forChunks(b, b.i64(width), ValueRange(), [&](Value offset, Value count, ValueRange) -> SmallVector<Value> {
      Value column = b.at(from, b.mul(offset, b.stride(q, 3)), element);
      b.storeVector(b.loadStrided(element, column, stride, b.stride(q, 3), count), b.at(to, offset, element));
      return {};
    });
  });
}

void AttendEmitter::multiplyKeys(const Block &block, Value end) {
  Value copy = b.at(b.scratch(), layout.query, b.getF32Type()), panels = b.ceilDiv(end, kLanes), depth = b.i64(width / group);
  bool isCopied = block.byHead || request.access.lastStride[q] != 1;
  if (isCopied)
    copyQueries(block, copy);
  if (block.byHead) {
    emitHeadProduct(b, {{factor}, together, ratio, copy, layout.queryRow, block.keys, b.stride(k, 1), width * kLanes, b.scratch(),
                        layout.stripRow, depth, panels});
    return;
  }
  Value rows = isCopied ? copy : rowAddress(q, element, block, b.i64(0));
  Value rowStride = isCopied ? b.i64(layout.queryRow) : b.stride(q, 2);
  callBlockProduct(b, {block.rows, rows, rowStride, block.keys, b.i64(width * kLanes), b.scratch(), b.i64(layout.stripRow), depth, panels},
                   {factor});
}

/// The context of all rows or one of them, from probabilities or exponentials of the first `end` keys.
void AttendEmitter::multiplyValues(const Block &block, std::optional<Value> onlyRow, Value end) {
  Type f32 = b.getF32Type(), result = typeOf(op.getOutput()).getElementType();
  Value firstRow = onlyRow.value_or(b.i64(0)), rows = onlyRow ? b.i64(1) : block.rows;
  bool allHeads = block.byHead && !onlyRow;
  bool direct = !reciprocals && !allHeads && valueWidth % kLanes == 0 && request.access.lastStride[out] == 1;
  Value target = direct ? rowAddress(out, f32, block, firstRow) : b.at(b.scratch(), layout.context, f32);
  Value targetStride = direct ? b.stride(out, 2) : b.i64(layout.contextRow);
  PanelKind kind{factor, /*tail=*/0, /*pitch=*/roundUp(valueWidth) / kLanes};
  Value panels = b.i64(kind.pitch), depth = b.div(end, b.i64(group));
  int64_t panelStride = kLanes * group;
  if (allHeads) {
    emitHeadProduct(b, {kind, together, ratio, b.scratch(), stripStride(), block.values, b.stride(v, 1), panelStride, target,
                        layout.contextRow, depth, panels});
  } else {
    Value values = block.values;
    if (block.byHead)
      values = b.at(values, b.mul(b.div(firstRow, b.i64(ratio)), b.stride(v, 1)), element);
    callBlockProduct(b, {rows, strip(firstRow), b.i64(stripStride()), values, b.i64(panelStride), target, targetStride, depth, panels}, kind);
  }
  if (direct)
    return;
  if (group > 1)
    b.ifThen(b.less(b.mul(depth, group), end), [&] { addHalfWord(block, firstRow, rows, b.sub(end, 1), target); });
  b.loop(b.i64(0), rows, 1, [&](Value row) {
    Value from = b.at(target, b.mul(row, targetStride), f32), to = rowAddress(out, result, block, b.add(firstRow, row));
    Value factor = reciprocals ? b.splat(b.load(f32, reciprocal(b.add(firstRow, row)))) : Value();
    forChunks(b, b.i64(valueWidth), ValueRange(), [&](Value offset, Value count, ValueRange) -> SmallVector<Value> {
      Value context = b.loadVector(f32, b.at(from, offset, f32));
      if (factor)
        context = b.create<arith::MulFOp>(context, factor);
      if (result.isBF16())
        context = narrowToBF16(b, context);
      Value column = b.at(to, b.mul(offset, b.stride(out, 3)), result);
      b.storeStrided(context, column, request.access.lastStride[out], b.stride(out, 3), count);
      return {};
    });
  });
}

/// Adds the last of an odd number of keys: what shares its word may be anything, infinities, too, of another sentence or of padding.
void AttendEmitter::addHalfWord(const Block &block, Value firstRow, Value rows, Value last, Value target) {
  FactorArithmetic arithmetic(b, factor);
  Type f32 = b.getF32Type();
  b.loop(b.i64(0), rows, 1, [&](Value row) {
    Value number = b.add(firstRow, row), values = block.values;
    if (block.byHead)
      values = b.at(values, b.mul(b.div(number, b.i64(ratio)), b.stride(v, 1)), element);
    auto power = arithmetic.loadRow(b.at(strip(number), last, element), /*count=*/1);
    for (int64_t column = 0; column < layout.contextRow; column += kLanes) {
      Value place = b.at(target, b.add(b.mul(row, layout.contextRow), column), f32);
      auto words = arithmetic.loadPanel(b.at(values, b.add(b.mul(last, layout.contextRow), column * group), element), /*count=*/1);
      b.storeVector(arithmetic.multiplyAdd(power, words, b.loadVector(f32, place)), place);
    }
  });
}

void AttendEmitter::storeProbabilities(const Block &block, Value row) {
  if (!op.getProbabilities())
    return;
  Type f32 = b.getF32Type();
  Value from = strip(row), to = rowAddress(out + 1, f32, block, row);
  forChunks(b, keyCount, ValueRange(), [&](Value offset, Value count, ValueRange) -> SmallVector<Value> {
    Value element = b.at(to, b.mul(offset, b.stride(out + 1, 3)), f32);
    b.storeStrided(b.loadVector(f32, b.at(from, offset, f32)), element, request.access.lastStride[out + 1], b.stride(out + 1, 3), count);
    return {};
  });
}

/// A row that the mask leaves no key: the same for all keys.
void AttendEmitter::emitRowWithoutKeys(const Block &block, Value row) {
  Value probability = scores.rowWithoutKeys(keyCount);
  if (reciprocals) {
    b.store(probability, reciprocal(row));
    probability = narrowToBF16(b, b.f32(1));
  }
  b.loop(b.i64(0), keyCount, kLanes, [&](Value offset) { b.storeVector(b.splat(probability), b.at(strip(row), offset, element)); });
  storeProbabilities(block, row);
  multiplyValues(block, row, keyCount);
}

} // namespace

LogicalResult emitAttend(KernelBuilder &b, AttendOp op, const KernelRequest &request) {
  AttendEmitter(b, op, request).emit();
  return success();
}

int64_t attendScratchBytes(AttendOp op, ModuleOp root) {
  Type element = typeOf(op.getQ()).getElementType();
  int64_t rows = largestTileRows(op, factorOf(element, element));
  return ScratchLayout(op, largestKeys(op, root), mostRows(rows)).total * sizeof(float);
}

} // namespace xf::cpu
