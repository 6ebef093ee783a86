// Rows of x in shared memory, and how a warp multiplies them.
//
// A part of a row is 64 bytes, four chunks of 8 k. Rows follow each other without gaps, and chunk c of row r lies at index c ^ (r / 2 mod 4): the
// 8 rows whose chunks a matrix load reads at once start at 8 different multiples of 16 bytes modulo 128, and so do the 8 chunks that are
// copied at once, two whole rows. No two lanes meet in a bank.
//
// Weights are read two words at a time, columns 2g and 2g + 1 of a pair, as with few rows: ptxas wants the four words of A in registers that
// follow each other, and two such reads put them there. Reads of four columns would bring words of two A, and each would have to be moved.
#include "compiler/Target/GPU/TensorTiles.h"

using namespace mlir;

namespace xf::gpu {

void TiledProduct::findLane() {
  group = b.div(b.lane(), b.i64(4)), inGroup = b.rem(b.lane(), b.i64(4));
  canCopy = rowsAligned(kChunk);
  // A load is of two tiles, each with both halves of a step.
  Value matrix = b.div(b.lane(), b.i64(kTileRows)), rowInTile = b.rem(b.lane(), b.i64(kTileRows));
  Value row = b.add(b.mul(b.div(matrix, b.i64(2)), kTileRows), rowInTile);
  ownOffsets.clear();
  for (int64_t step = 0; step < kPartSteps; ++step)
    ownOffsets.push_back(chunkOffset(row, b.add(b.rem(matrix, b.i64(2)), 2 * step)));
}

Value TiledProduct::chunkOffset(Value row, Value chunk) {
  Value shift = b.rem(b.div(row, b.i64(2)), b.i64(4));
  return b.add(b.mul(row, kRowBytes), b.mul(b.create<arith::XOrIOp>(chunk, shift), kChunk));
}

void TiledProduct::copyRows(Value target, Value firstRow, int64_t count, Value part, Value thread, int64_t threads, int64_t divisor) {
  constexpr int64_t kRowChunks = kRowBytes / kChunk;
  for (int64_t first = 0; first < count * kRowChunks; first += threads) {
    Value index = b.add(thread, first), row = b.div(index, b.i64(kRowChunks)), chunk = b.rem(index, b.i64(kRowChunks));
    Value k = b.add(b.mul(part, kPartDepth), b.mul(chunk, kChunk / 2)), bytes;
    if (depth % divisor)
      bytes = b.create<arith::TruncIOp>(word, b.mul(b.min(b.max(b.sub(b.i64(depth), k), b.i64(0)), b.i64(kChunk / 2)), 2));
    copyAsync(b, atByte(target, chunkOffset(row, chunk)), b.at(xRow(b.add(firstRow, row)), k, factor), bytes);
  }
}

/// Without branches: all lanes of a warp must come to the multiplications that follow together, and LLVM does not know that. Past the row's end its
/// last element is read.
void TiledProduct::gatherRows(Value target, Value firstRow, int64_t count, Value part, Value thread, int64_t threads) {
  constexpr int64_t kRowWords = kRowBytes / 4, kChunkWords = kChunk / 4;
  b.loopWithoutUnrolling(b.i64(0), b.i64(count * kRowWords), threads, thread, [&](Value, ValueRange index) -> SmallVector<Value> {
    Value row = b.div(index[0], b.i64(kRowWords)), own = b.rem(index[0], b.i64(kRowWords)), start = xRow(b.add(firstRow, row));
    auto element = [&](int64_t i) {
      Value k = b.add(b.add(b.mul(part, kPartDepth), b.mul(own, 2)), i);
      return zeroUnless(b, b.less(k, b.i64(depth)), b.load(factor, b.at(start, b.min(k, b.i64(depth - 1)), factor)));
    };
    Value low = element(0), pair = joinPair(b, low, element(1));
    b.store(pair, b.at(atByte(target, chunkOffset(row, b.div(own, b.i64(kChunkWords)))), b.rem(own, b.i64(kChunkWords)), word));
    return {b.add(index[0], threads)};
  });
}

SmallVector<Value> TiledProduct::readRows(Value start, int64_t tiles, int64_t step) {
  SmallVector<Value> words;
  for (int64_t tile = 0; tile < tiles; tile += 2)
    words.append(loadMatrices(b, b.atByte(atByte(start, ownOffsets[step]), tile * kTileRows * kRowBytes)));
  return words;
}

SmallVector<Value> TiledProduct::multiplyStep(ValueRange weights, ValueRange rows, ValueRange sums) {
  SmallVector<Value> a = llvm::to_vector(weights), x = llvm::to_vector(rows), next = llvm::to_vector(sums);
  int64_t tiles = x.size() / 2;
  for (int64_t tile = 0; tile < tiles; ++tile)
    for (int64_t panel = 0; panel < kWarpPanels; ++panel) {
      auto own = MutableArrayRef(next).slice((panel * tiles + tile) * 4, 4);
      llvm::copy(multiplyTiles(b, factor, ArrayRef(a).slice(4 * panel, 4), ArrayRef(x).slice(2 * tile, 2), own), own.begin());
    }
  return next;
}

void TiledProduct::forPairs(ValueRange sums, function_ref<void(ArrayRef<Value>, Value, Value)> store) {
  int64_t tiles = sums.size() / (4 * kWarpPanels);
  for (int64_t panel = 0; panel < kWarpPanels; ++panel)
    for (int64_t tile = 0; tile < tiles; ++tile)
      for (int64_t i = 0; i < 2; ++i) {
        Value pair[] = {sums[(panel * tiles + tile) * 4 + i], sums[(panel * tiles + tile) * 4 + 2 + i]};
        store(pair, b.add(b.mul(inGroup, 2), tile * kTileRows + i), b.add(b.mul(group, 2), panel * kPanelColumns));
      }
}

} // namespace xf::gpu
