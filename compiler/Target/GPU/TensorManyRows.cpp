// Products of 16-bit factors with many rows.
//
// Parts of 32 k of both operands pass through shared memory in a ring of stages, which asynchronous copies fill some parts ahead. A warp reads
// the operands of a step before it multiplies the previous one: the barrier that shows what has arrived, and frees the stage that is filled
// next, stands between the two steps of a part, while the products of the first one are under way.
//
// A panel's pair is 64 bytes, so pairs t and t + 2 share their banks. In every other two pairs the halves of the panel are therefore swapped, and
// the 16 lanes that read 8 bytes at a time (half of the columns, four pairs) read from 16 different places.
//
// The sums go to shared memory, so that callers can take whole rows, with code for few elements.
#include "compiler/Target/GPU/TensorTiles.h"

using namespace mlir;

namespace xf::gpu {

int64_t ManyRowsProduct::stageBytes() const { return shape.panels * kPanelBytes + shape.rows * kRowBytes; }
/// As many stages as there is room for, up to a chain's parts: where they divide these, a stage's offset is a constant.
int64_t ManyRowsProduct::stages() const { return std::min(kChainParts, kSharedBytes / stageBytes()); }

int64_t ManyRowsProduct::sharedRows(Shape shape) {
  int64_t maxRows = kSharedBytes / (4 * shape.stride()) / shape.warpRows * shape.warpRows;
  return std::min(shape.rows, maxRows);
}

Value ManyRowsProduct::stage(Value firstPart, int64_t part) {
  Value index = kChainParts % stages() == 0 ? b.i64(part % stages()) : b.remainder(b.add(firstPart, part), b.i64(stages()));
  return atByte(shared, b.mul(index, stageBytes()));
}

/// Finds the chunks of the weights of each part that the thread copies.
void ManyRowsProduct::findChunks() {
  constexpr int64_t kQuads = kPairBytes / kChunk, kPerPanel = kPartDepth / 2 * kQuads;
  for (int64_t first = 0; first < shape.panels * kPerPanel; first += shape.threads()) {
    Value index = b.add(b.thread(), first), panel = b.div(index, b.i64(kPerPanel));
    Value pair = b.rem(b.div(index, b.i64(kQuads)), b.i64(kPartDepth / 2)), quad = b.rem(index, b.i64(kQuads));
    Value from = atByte(panelAt(b.add(firstPanel, panel)), b.add(b.mul(pair, kPairBytes), b.mul(quad, kChunk)));
    Value swapped = b.create<arith::XOrIOp>(quad, b.mul(b.rem(b.div(pair, b.i64(2)), b.i64(2)), 2));
    Value offset = b.add(b.mul(b.sub(index, quad), kChunk), b.mul(swapped, kChunk));
    chunks.push_back({from, offset, pair, needed ? needed(panel) : Value()});
  }
}

void ManyRowsProduct::copyWeights(Value target, Value part) {
  for (const Chunk &chunk : chunks) {
    Value reads = chunk.reads;
    if (depth % kPartDepth)
      reads = b.both(reads, b.less(b.add(b.mul(part, kPartDepth / 2), chunk.pair), b.i64(pairs)));
    copyAsyncIf(b, reads, atByte(target, chunk.offset), atByte(chunk.from, b.mul(part, kPanelBytes)));
  }
}

ManyRowsProduct::Step ManyRowsProduct::read(Value stage, int64_t step) {
  Step words;
  Value own = atByte(stage, ownWeights);
  for (int64_t panel = 0; panel < kWarpPanels; ++panel)
    for (int64_t half : {0, 4})
      words.weights.append(b.loadMany(b.atByte(own, panel * kPanelBytes + (step * kStepDepth / 2 + half) * kPairBytes), 2, word));
  words.rows = readRows(atByte(rowsOf(stage), b.mul(ownRow, kRowBytes)), tiles(), step);
  return words;
}

/// The chain over `count` parts from `firstPart` on. `next` is its first step, already read, and finally the step after it.
SmallVector<Value> ManyRowsProduct::chain(Value firstPart, int64_t count, Step &next) {
  SmallVector<Value> sums = zeros();
  auto multiply = [&](const Step &step) { sums = multiplyStep(step.weights, step.rows, sums); };
  int64_t ahead = stages() - 1;
  for (int64_t part = 0; part < count; ++part) {
    Step second = read(stage(firstPart, part), 1);
    Value filled = b.add(firstPart, part + ahead);
    b.ifThen(b.less(filled, b.i64(parts())), [&] {
      Value target = stage(firstPart, part + ahead);
      copyWeights(target, filled);
      copyRowsTo(target, filled);
    });
    commitCopies(b);
    multiply(next);
    awaitCopies(b, ahead - 1);
    b.barrier();
    // After the last part there is an old one, or none.
    if (part + 1 < count || count == kChainParts)
      next = read(stage(firstPart, part + 1), 0);
    multiply(second);
  }
  return sums;
}

SmallVector<Value> ManyRowsProduct::addChains() {
  // A group of copies for each part, and an empty one where there is no part, so that the number of open groups tells what has arrived.
  int64_t ahead = stages() - 1;
  for (int64_t part = 0; part < ahead; ++part) {
    if (part < parts())
      copyRowsTo(stage(b.i64(0), part), b.i64(part));
    commitCopies(b);
  }
  awaitCopies(b, ahead - 1);
  b.barrier();
  SmallVector<Value> sums = zeros();
  Step next = read(stage(b.i64(0), 0), 0);
  int64_t whole = depth / kChainDepth;
  auto carry = [&] {
    SmallVector<Value> values = sums;
    llvm::append_range(values, next.weights);
    llvm::append_range(values, next.rows);
    return values;
  };
  auto take = [&](ValueRange values) {
    sums = llvm::to_vector(values.take_front(sums.size()));
    values = values.drop_front(sums.size());
    next = {llvm::to_vector(values.take_front(next.weights.size())), llvm::to_vector(values.drop_front(next.weights.size()))};
  };
  take(b.loopWithoutUnrolling(b.i64(0), b.i64(whole * kChainParts), kChainParts, carry(), [&](Value firstPart, ValueRange before) {
    take(before);
    sums = addTo(sums, chain(firstPart, kChainParts, next));
    return carry();
  }));
  if (depth % kChainDepth)
    sums = addTo(sums, chain(b.i64(whole * kChainParts), llvm::divideCeil(depth % kChainDepth, kPartDepth), next));
  return sums;
}

/// The same for rows that cannot be copied in chunks, one part after the other.
SmallVector<Value> ManyRowsProduct::addChainsOfGathered() {
  Value target = stage(b.i64(0), 0);
  commitCopies(b);
  awaitCopies(b, 0);
  return b.loop(b.i64(0), b.i64(parts()), kChainParts, zeros(), [&](Value first, ValueRange sums) {
    Value end = b.min(b.add(first, kChainParts), b.i64(parts()));
    return addTo(sums, b.loopWithoutUnrolling(first, end, 1, zeros(), [&](Value part, ValueRange carried) {
      SmallVector<Value> chain = llvm::to_vector(carried);
      b.barrier(); // the part before is no longer read
      copyWeights(target, part);
      gatherRows(rowsOf(target), firstRow, shape.rows, part, b.thread(), shape.threads());
      commitCopies(b);
      awaitCopies(b, 0);
      b.barrier();
      for (int64_t step = 0; step < kPartSteps; ++step) {
        Step own = read(target, step);
        chain = multiplyStep(own.weights, own.rows, chain);
      }
      return chain;
    }));
  });
}

void ManyRowsProduct::multiply(Value firstRow, Value firstPanel, function_ref<void()> startRows, function_ref<Value(Value)> isNeeded) {
  this->firstRow = firstRow, this->firstPanel = firstPanel, needed = isNeeded;
  int64_t rowWarps = shape.rows / shape.warpRows;
  ownPanel = b.mul(b.div(b.warp(), b.i64(rowWarps)), kWarpPanels);
  ownRow = b.mul(b.rem(b.warp(), b.i64(rowWarps)), shape.warpRows);
  findLane();
  findChunks();
  // Pair t, columns 2g and 2g + 1.
  Value quad = b.create<arith::XOrIOp>(b.div(group, b.i64(2)), b.mul(b.div(inGroup, b.i64(2)), 2));
  ownWeights = b.add(b.add(b.mul(ownPanel, kPanelBytes), b.mul(inGroup, kPairBytes)),
                     b.add(b.mul(quad, kChunk), b.mul(b.rem(group, b.i64(2)), kChunk / 2)));
  shared = b.shared(b.getI8Type(), sharedBytes());

  // The weights of all parts that are under way from the beginning belong to the first one's group.
  for (int64_t part = 0; part < std::min(stages() - 1, parts()); ++part)
    copyWeights(stage(b.i64(0), part), b.i64(part));
  startRows();
  sums = b.choose(canCopy, [&] { return addChains(); }, [&] { return addChainsOfGathered(); });
  b.barrier(); // the stages are no longer read
}

Value ManyRowsProduct::share(int64_t first) {
  Value ownColumn = b.mul(ownPanel, kPanelColumns);
  auto store = [&] {
    forPairs(sums, [&](ArrayRef<Value> pair, Value row, Value column) {
      Value offset = b.add(b.mul(b.add(b.sub(ownRow, first), row), shape.stride()), b.add(ownColumn, column));
      b.storeMany(pair, b.at(shared, offset, b.getF32Type()));
    });
  };
  int64_t count = sharedRows(shape);
  if (count == shape.rows)
    store();
  else
    b.ifThen(b.equal(b.div(ownRow, b.i64(count)), b.i64(first / count)), store);
  return shared;
}

} // namespace xf::gpu
