// Products of 16-bit factors with many rows.
//
// A block computes 64 or 128 columns of 64 rows, a warp 32 of 32. Parts of 32 k of both operands pass through shared memory in a
// ring of stages, which asynchronous copies fill some parts ahead; one barrier a part both shows what has arrived and
// frees the stage that is filled next.
//
// No two lanes' reads of shared memory meet in a bank. Rows of x are 80 bytes apart: the 8 rows that a matrix load reads at once start at
// 8 different multiples of 16 bytes modulo 128. A panel's pair is 64 bytes, so pairs t and t + 2 share their banks; in every
// other two pairs the halves of the panel change places, and the 8 lanes that read 16 bytes at a time (two quarters of the
// columns, four pairs) meet 8 different places again.
//
// Which column is which row of A is free here too: a lane reads 4 neighbouring columns of a pair, and takes two for each of
// two multiplications, whose 32 rows of A are the columns of two panels. It ends with sums of 4 neighbouring columns.
//
// The sums go to shared memory, so that who needs them can take whole rows, with the code of few elements.
#include "compiler/Target/GPU/TensorProduct.h"

using namespace mlir;

namespace xf::gpu {
namespace {

constexpr int64_t kRows = ManyRowsProduct::Shape::kRows, kWarpColumns = 32, kWarpRows = 32;
constexpr int64_t kRowTiles = kWarpRows / kTileRows, kChainParts = kChainDepth / kPartDepth;
// Bytes. A chunk is what one copy moves.
constexpr int64_t kChunk = 16, kRowBytes = 2 * kPartDepth + kChunk;
constexpr int64_t kPairBytes = 4 * kPanelColumns, kPanelBytes = kPartDepth / 2 * kPairBytes;

constexpr int64_t bytesOfStage(ManyRowsProduct::Shape shape) { return shape.panels * kPanelBytes + kRows * kRowBytes; }
/// As many stages as there is room for.
constexpr int64_t stagesOf(ManyRowsProduct::Shape shape) { return std::min<int64_t>(4, kSharedBytes / bytesOfStage(shape)); }
constexpr bool fits(ManyRowsProduct::Shape shape) {
  int64_t bytes = stagesOf(shape) * bytesOfStage(shape);
  return stagesOf(shape) >= 3 && shape.stride() * kRows * 4 <= bytes && shape.threads() == kRows / kWarpRows * shape.columns() / kWarpColumns * kWarp;
}
static_assert(fits({4}) && fits({8}));

} // namespace

int64_t ManyRowsProduct::stageBytes() const { return bytesOfStage(shape); }
int64_t ManyRowsProduct::parts() { return llvm::divideCeil(depth, kPartDepth); }
Value ManyRowsProduct::stage(Value part) {
  return atByte(shared, b.mul(b.rem(part, b.i64(stagesOf(shape))), stageBytes()));
}
Value ManyRowsProduct::ofChunk(Value elements) { return b.min(b.max(elements, b.i64(0)), b.i64(kChunk / 2)); }
/// The quarter of `pair` where quarter `quad` of its columns lies.
Value ManyRowsProduct::swapped(Value quad, Value pair) {
  return b.create<arith::XOrIOp>(quad, b.mul(b.rem(b.div(pair, b.i64(2)), b.i64(2)), 2));
}

void ManyRowsProduct::copyWeights(Value target, Value firstPair) {
  constexpr int64_t kQuads = kPairBytes / kChunk, kPerPanel = kPanelBytes / kChunk;
  auto chunkOr0 = [&](Value condition) {
    return b.create<arith::SelectOp>(condition, b.create<arith::ConstantIntOp>(kChunk, 32), b.create<arith::ConstantIntOp>(0, 32));
  };
  for (int64_t i = 0; i < shape.panels * kPerPanel / shape.threads(); ++i) {
    Value chunk = b.add(b.thread(), i * shape.threads());
    Value panel = b.div(chunk, b.i64(kPerPanel)), pair = b.rem(b.div(chunk, b.i64(kQuads)), b.i64(kPartDepth / 2));
    Value quad = b.rem(chunk, b.i64(kQuads)), sourcePair = b.add(firstPair, pair);
    Value from = atByte(panelAt(b.add(firstPanel, panel)), b.add(b.mul(sourcePair, kPairBytes), b.mul(quad, kChunk)));
    Value place = b.add(b.mul(pair, kPairBytes), b.mul(swapped(quad, pair), kChunk));
    Value reads;
    if (depth % kPartDepth)
      reads = b.less(sourcePair, b.i64(pairs));
    if (needed)
      reads = reads ? b.create<arith::AndIOp>(reads, needed(panel)).getResult() : needed(panel);
    copyAsync(b, atByte(target, b.add(b.mul(panel, kPanelBytes), place)), from, reads ? chunkOr0(reads).getResult() : Value());
  }
}

/// The thread's chunks of x: where they go, where they are, and how many of their elements there are.
void ManyRowsProduct::forChunksOfX(Value target, Value firstK, function_ref<void(Value, Value, Value)> body) {
  constexpr int64_t kPerRow = 2 * kPartDepth / kChunk;
  for (int64_t first = 0; first < kRows * kPerRow; first += shape.threads()) {
    Value chunk = b.add(b.thread(), first);
    Value row = b.div(chunk, b.i64(kPerRow)), part = b.rem(chunk, b.i64(kPerRow));
    Value k = b.add(firstK, b.mul(part, kChunk / 2));
    Value to = atByte(target, b.add(b.mul(row, kRowBytes), b.mul(part, kChunk)));
    body(to, b.at(xRow(b.add(firstRow, row)), k, factor), b.sub(b.i64(depth), k));
  }
}

/// Starts to bring a part to its stage.
void ManyRowsProduct::fill(Value part) {
  Value target = stage(part), firstK = b.mul(part, kPartDepth);
  copyWeights(target, b.mul(part, kPartDepth / 2));
  Value targetX = b.atByte(target, shape.panels * kPanelBytes);
  auto copy = [&] {
    forChunksOfX(targetX, firstK, [&](Value to, Value from, Value elements) {
      Value bytes;
      if (depth % kPartDepth)
        bytes = b.create<arith::TruncIOp>(word, b.mul(ofChunk(elements), 2));
      copyAsync(b, to, from, bytes);
    });
  };
  // Rows that start anywhere are read element by element. Without branches: all lanes of a warp must come to the multiplications
  // that follow together, and LLVM does not know that. What is not needed is read from the row's last place.
  auto gather = [&] {
    forChunksOfX(targetX, firstK, [&](Value to, Value from, Value elements) {
      SmallVector<Value> values, words;
      for (int64_t i = 0; i < kChunk / 2; ++i) {
        Value read = b.load(factor, b.at(from, b.min(b.i64(i), b.sub(elements, 1)), factor));
        values.push_back(zeroUnless(b, b.less(b.i64(i), elements), read));
      }
      for (size_t i = 0; i < values.size(); i += 2)
        words.push_back(joinPair(b, values[i], values[i + 1]));
      b.storeMany(words, to);
    });
  };
  b.ifElse(copiesX, copy, gather);
}

void ManyRowsProduct::multiply(Value part) {
  Value start = stage(part);
  Value panel = b.add(ownPanel, b.div(group, b.i64(4))), quad = b.rem(group, b.i64(4));
  Value place = b.add(b.mul(inGroup, kPairBytes), b.mul(swapped(quad, inGroup), kChunk));
  Value weights = atByte(start, b.add(b.mul(panel, kPanelBytes), place));
  Value matrix = b.div(b.lane(), b.i64(kTileRows)), row = b.add(ownRow, b.rem(b.lane(), b.i64(kTileRows)));
  Value x = atByte(start, b.add(b.add(b.mul(row, kRowBytes), b.mul(matrix, kChunk)), shape.panels * kPanelBytes));
  // Of each tile the words of B of both steps.
  SmallVector<SmallVector<Value>> rowsOfX;
  for (int64_t tile = 0; tile < kRowTiles; ++tile)
    rowsOfX.push_back(loadMatrices(b, b.atByte(x, tile * kTileRows * kRowBytes)));
  for (int64_t step = 0; step < kPartDepth / kStepDepth; ++step) {
    auto low = b.loadMany(b.atByte(weights, step * kStepDepth / 2 * kPairBytes), 4, word);
    auto high = b.loadMany(b.atByte(weights, (step * kStepDepth / 2 + 4) * kPairBytes), 4, word);
    for (int64_t tile = 0; tile < kRowTiles; ++tile)
      for (int64_t half = 0; half < 2; ++half) {
        Value a[] = {low[2 * half], low[2 * half + 1], high[2 * half], high[2 * half + 1]};
        auto own = MutableArrayRef(sums).slice((2 * tile + half) * 4, 4);
        llvm::copy(multiplyTiles(b, factor, a, ArrayRef(rowsOfX[tile]).slice(2 * step, 2), own), own.begin());
      }
  }
}

void ManyRowsProduct::storeSums() {
  Type f32 = b.getF32Type();
  auto sumAt = [&](Value row, Value column) { return b.at(shared, b.add(b.mul(row, shape.stride()), column), f32); };
  Value column = b.add(b.mul(ownPanel, kPanelColumns), b.mul(group, 4));
  for (int64_t tile = 0; tile < kRowTiles; ++tile)
    for (int64_t i = 0; i < 2; ++i) {
      auto at = [&](int64_t half, int64_t which) { return sums[(2 * tile + half) * 4 + 2 * which + i]; };
      Value row = b.add(b.add(ownRow, b.mul(inGroup, 2)), tile * kTileRows + i);
      b.storeMany({at(0, 0), at(0, 1), at(1, 0), at(1, 1)}, sumAt(row, column));
    }
}

Value ManyRowsProduct::multiply(Value firstRow, Value firstPanel, function_ref<Value(Value)> isNeeded) {
  this->firstRow = firstRow, this->firstPanel = firstPanel, needed = isNeeded;
  constexpr int64_t kRowWarps = kRows / kWarpRows;
  ownPanel = b.mul(b.div(b.warp(), b.i64(kRowWarps)), kWarpColumns / kPanelColumns);
  ownRow = b.mul(b.rem(b.warp(), b.i64(kRowWarps)), kWarpRows);
  group = b.div(b.lane(), b.i64(4)), inGroup = b.rem(b.lane(), b.i64(4));
  shared = b.shared(b.getI8Type(), stagesOf(shape) * stageBytes());
  copiesX = rowsAligned(kChunk);

  // A group of copies for each part, and an empty one where there is no part, so that numbers tell what has arrived.
  int64_t stages = stagesOf(shape);
  for (int64_t part = 0; part < stages - 1; ++part) {
    if (part < parts())
      fill(b.i64(part));
    closeCopies(b);
  }
  const SmallVector<Value> zeros(2 * kRowTiles * 4, b.f32(0));
  sums = b.loop(b.i64(0), b.i64(parts()), kChainParts, zeros, [&](Value first, ValueRange chains) {
    Value end = b.min(b.add(first, kChainParts), b.i64(parts()));
    SmallVector<Value> chain = b.writtenOutLoop(first, end, 1, zeros, [&](Value part, ValueRange carried) {
      sums = llvm::to_vector(carried);
      awaitCopies(b, stages - 2);
      b.barrier();
      Value next = b.add(part, stages - 1);
      b.ifThen(b.less(next, b.i64(parts())), [&] { fill(next); });
      closeCopies(b);
      multiply(part);
      return sums;
    });
    return addTo(chains, chain);
  });
  awaitCopies(b, 0);
  b.barrier();
  storeSums();
  return shared;
}

} // namespace xf::gpu
