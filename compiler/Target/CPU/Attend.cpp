// The kernel of xf.attend. A task is a few query rows of one head of one sentence: products with the keys into a strip
// of scratch that stays in L1 or L2, softmax in place, product with the values. Where a row has one query only, as in
// a decoder's step, a task is the query of a few heads instead, or a head's queries of a sentence's beams, which share keys and values.
// Threads take contiguous ranges of tasks.
#include "compiler/Target/CPU/AttendBlock.h"
#include "compiler/Target/CPU/HeadCopy.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf::cpu {
namespace {

class AttendTasks : AttendBlocks {
public:
  using AttendBlocks::AttendBlocks;
  void emit();

private:
  void emitPositions();
  void emitHeads();
  void emitSpans();
  void emitBeams();
  void appendOne(const Block &block);
  void appendOne(const Block &block, Value tensor, Layout layout);
};

void AttendTasks::emit() {
  if (spans)
    return emitSpans();
  auto positions = [&] { emitPositions(); };
  auto alone = [&] { together == 1 ? emitPositions() : emitHeads(); };
  auto step = [&] {
    if (!mayShareStates(op))
      return alone();
    Value rows = b.size(q, 0), sentences = order.sort(rows, [&](Value row) { return stateRow(op.getK(), row); });
    b.ifElse(b.less(rows, b.mul(sentences, 2)), alone, [&] { emitBeams(); });
  };
  if (int16 || (together == 1 && !mayShareStates(op)))
    return positions();
  b.ifElse(b.equal(b.size(q, 2), b.i64(1)), step, positions);
}

/// A block is one head's queries of rows of the same sentence, a tile at most. Threads take all rows of some heads, and so read different
/// keys and values.
void AttendTasks::emitBeams() {
  Value rows = b.size(q, 0);
  auto [begin, end] = b.share(b.mul(rows, b.i64(heads)));
  Value last = b.sub(end, 1);
  auto sentenceAt = [&](Value task) { return stateRow(op.getK(), order.rowAt(b.rem(task, rows))); };
  auto blockOf = [&](Value task, Value count) {
    Block block{.kind = Queries::ofBeams, .batch = b.rem(task, rows), .head = b.div(task, rows), .first = b.i64(0), .rows = count};
    findStates(block);
    return block;
  };
  b.accumulate(begin, end, 1, begin, [&](Value task, Value start) {
    Value next = b.add(task, 1), count = b.sub(next, start);
    Value isInside = b.both(b.less(task, last), b.less(b.rem(task, rows), b.sub(rows, 1)));
    Value isSame = b.equal(sentenceAt(task), sentenceAt(b.min(next, last)));
    Value goesOn = b.both(b.both(isInside, isSame), b.less(count, b.i64(tileRows)));
    auto emitRows = [&] {
      // One row of the next block is enough to know what it reads.
      Block block = blockOf(start, count), after = blockOf(b.min(next, last), b.i64(1));
      emitBlock(block, &after);
      return next;
    };
    return b.chooseOne(goesOn, [&] { return start; }, emitRows);
  });
}

/// A block is a tile of queries of a head.
void AttendTasks::emitPositions() {
  Value queries = b.size(q, 2), blocks = b.ceilDiv(queries, tileRows);
  auto [begin, end] = b.share(b.mul(b.mul(b.size(q, 0), heads), blocks));
  b.loop(begin, end, 1, [&](Value task) {
    Block block{.kind = Queries::ofPositions};
    Value head = b.div(task, blocks);
    block.first = b.mul(b.rem(task, blocks), tileRows);
    block.rows = b.min(b.i64(tileRows), b.sub(queries, block.first));
    block.batch = b.div(head, heads);
    block.head = b.rem(head, heads);
    findStates(block);
    if (together == 1) // else emitHeads takes single queries
      b.ifThen(b.equal(queries, b.i64(1)), [&] { appendOne(block); });
    emitBlock(block, nullptr);
  });
}

/// A block is the only query of a few heads.
void AttendTasks::emitHeads() {
  int64_t blocks = heads / together; // of a row
  auto [begin, end] = b.share(b.mul(b.size(q, 0), blocks));
  auto blockOf = [&](Value task) {
    Block block{.kind = Queries::ofHeads};
    block.first = b.i64(0);
    block.rows = b.i64(together);
    block.batch = b.div(task, blocks);
    block.head = b.mul(b.rem(task, blocks), together);
    findStates(block);
    return block;
  };
  b.loop(begin, end, 1, [&](Value task) {
    Block block = blockOf(task);
    appendOne(block);
    Block next = blockOf(b.min(b.add(task, 1), b.sub(end, 1)));
    emitBlock(block, &next);
  });
}

/// Sentences of different lengths. Tasks are ordered by heads first, so that threads get parts of the same sentences, and tasks with the same
/// keys and values follow each other.
void AttendTasks::emitSpans() {
  Value sentences = b.size(*spans, 0), blocks = b.ceilDiv(b.size(k, 2), tileRows);
  auto [first, end] = b.share(b.mul(b.mul(sentences, blocks), heads));
  b.loop(first, end, 1, [&](Value task) {
    Block block{.kind = Queries::ofPositions};
    block.first = b.mul(b.rem(task, blocks), tileRows);
    Value rest = b.div(task, blocks);
    block.batch = b.rem(rest, sentences);
    block.head = b.div(rest, sentences);
    std::tie(start, keyCount) = b.loadSpan(*spans, block.batch);
    block.rows = b.min(b.i64(tileRows), b.sub(keyCount, block.first));
    findStates(block);
    b.ifThen(b.less(b.i64(0), block.rows), [&] { emitBlock(block, nullptr); });
  });
}

/// Writes the only new position of the block's heads to the states, where that was left to this kernel. No other task reads it:
/// each query head then has keys of its own.
void AttendTasks::appendOne(const Block &block) {
  appendOne(block, op.getK(), Layout::keys);
  appendOne(block, op.getV(), Layout::values);
}

void AttendTasks::appendOne(const Block &block, Value tensor, Layout layout) {
  AppendOp append = appendedBy(op, tensor);
  if (!append)
    return;
  auto accessOf = [&](unsigned view) { return TensorAccess{view, request.access.lastStride[view]}; };
  TensorAccess from = accessOf(request.appendedOf(tensor)), to = accessOf(request.viewOf(tensor));
  to.past = request.pastOf(tensor);
  b.loop(b.i64(0), b.i64(block.kind == Queries::ofHeads ? together : 1), 1,
         [&](Value i) { appendHead(b, append.getX().getType(), from, to, layout, block.batch, b.add(block.head, i)); });
}

} // namespace

LogicalResult emitAttend(KernelBuilder &b, AttendOp op, const KernelRequest &request) {
  AttendTasks(b, op, request).emit();
  return success();
}

} // namespace xf::cpu
