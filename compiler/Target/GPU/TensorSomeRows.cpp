// Products of 16-bit factors with some rows, too few for blocks of many: a block has 32 columns of 32 rows, and each of its warps a chain, as with
// few rows, so that there are enough blocks, and all of a chain is under way at once.
//
// Only one warp uses the weights of a chain: they go to its registers. Rows of x go to its own part of shared memory, from where a matrix load
// reads them: from global memory a lane would read 4 bytes at a time. Where a warp has several chains, copies of the next one's parts start
// as soon as there is room for them.
//
// Chains are joined in ascending order in shared memory. Its rows are 128 bytes, and the 16 bytes of columns 4q … of row r lie at index
// q ^ (r mod 8, rounded down to even): 16 lanes that write pairs of columns of four rows, two apart, write to different banks.
#include "compiler/Target/GPU/TensorTiles.h"

using namespace mlir;

namespace xf::gpu {

/// The warp's chain; past the last one it is the last one again, which nobody uses.
Value SomeRowsProduct::chainOf(Value round) {
  Value chain = b.add(b.mul(round, warpsFor(depth)), b.warp());
  return chains() % warpsFor(depth) ? b.min(chain, b.i64(chains() - 1)) : chain;
}

/// Starts to copy `count` parts of a chain's rows, from `part` on, each as a group; the warp's chains share the memory of their parts.
void SomeRowsProduct::fill(Value round, int64_t part, int64_t count) {
  Value first = b.mul(chainOf(round), kChainParts);
  auto forParts = [&](function_ref<void(Value, Value)> bring) {
    for (int64_t i = part; i < part + count; ++i) {
      bring(b.atByte(ownRows, i * kPartBytes), b.add(first, i));
      commitCopies(b);
    }
  };
  auto copy = [&](Value target, Value part) { copyRows(target, firstRow, kRows, part, b.lane(), kWarp, chainDepth()); };
  auto gather = [&](Value target, Value part) { gatherRows(target, firstRow, kRows, part, b.lane(), kWarp); };
  b.ifElse(canCopy, [&] { forParts(copy); }, [&] { forParts(gather); });
}

/// The lane's words of a part: for each step four of each of two panels.
SmallVector<Value> SomeRowsProduct::readWeights(Value round, int64_t part) {
  SmallVector<Value> words;
  Value firstPair = b.mul(chainOf(round), kChainDepth / 2);
  for (int64_t step = 0; step < kPartSteps; ++step)
    for (Value panel : ownPanels)
      for (int64_t half : {0, 4}) {
        Value pair = b.add(firstPair, (part * kPartDepth + step * kStepDepth) / 2 + half);
        if (depth % chainDepth() == 0) {
          words.append(b.loadMany(atByte(panel, b.mul(pair, kPairBytes)), 2, word));
          continue;
        }
        Value exists = b.less(b.add(pair, inGroup), b.i64(pairs));
        Value existing = b.min(pair, b.sub(b.i64(pairs - 1), inGroup));
        for (Value read : b.loadMany(atByte(panel, b.mul(existing, kPairBytes)), 2, word))
          words.push_back(zeroUnless(b, exists, read));
      }
  return words;
}

/// The warp's chain of a round, whose weights have been read.
SmallVector<Value> SomeRowsProduct::multiplyChain(Value round, bool isFirst) {
  SmallVector<Value> sums(kSums, b.f32(0));
  for (int64_t part = 0; part < chainParts(); ++part) {
    // In the first round one part more is under way, as its first part has no stage to fill.
    awaitCopies(b, rounds() == 1 ? chainParts() - 1 - part : isFirst && part == 0 ? kChainParts - 1 : kChainParts - 2);
    b.barrier();
    Value rows = b.atByte(ownRows, part * kPartBytes);
    SmallVector<SmallVector<Value>> steps;
    for (int64_t step = 0; step < kPartSteps; ++step)
      steps.push_back(readRows(rows, kTiles, step));
    // All lanes have read the part before.
    if (rounds() > 1 && !(isFirst && part == 0)) {
      if (part == 0)
        fill(round, kChainParts - 1, 1);
      else
        b.ifElse(b.less(b.add(round, 1), b.i64(rounds())), [&] { fill(b.add(round, 1), part - 1, 1); }, [&] { commitCopies(b); });
    }
    for (int64_t step = 0; step < kPartSteps; ++step)
      sums = multiplyStep(ArrayRef(w[part]).slice(step * 4 * kWarpPanels, 4 * kWarpPanels), steps[step], sums);
    if (rounds() > 1)
      w[part] = readWeights(b.min(b.add(round, 1), b.i64(rounds() - 1)), part);
  }
  return sums;
}

/// The address of the sum that `warp` has computed for an element.
Value SomeRowsProduct::sumAddress(Value warp, Value row, Value column) {
  Value quad = b.create<arith::XOrIOp>(b.div(column, b.i64(4)), b.mul(b.div(b.rem(row, b.i64(8)), b.i64(2)), 2));
  Value offset = b.add(b.mul(b.add(b.mul(warp, kRows), row), kWarpColumns), b.add(b.mul(quad, 4), b.rem(column, b.i64(4))));
  return b.at(sumsStart, offset, b.getF32Type());
}

/// Adds the chains of the first `count` warps to the thread's sums.
SmallVector<Value> SomeRowsProduct::join(ValueRange chain, int64_t count, ValueRange totals) {
  forPairs(chain, [&](ArrayRef<Value> pair, Value row, Value column) { b.storeMany(pair, sumAddress(b.warp(), row, column)); });
  b.barrier();
  SmallVector<Value> sums = llvm::to_vector(totals);
  for (auto [i, sum] : llvm::enumerate(sums)) {
    // The last row stands for rows after it.
    Value row = b.min(rowOf(i), b.i64(kRows - 1));
    for (int64_t warp = 0; warp < count; ++warp)
      sum = b.create<arith::AddFOp>(sum, b.load(b.getF32Type(), sumAddress(b.i64(warp), row, b.lane())));
  }
  return sums;
}

SmallVector<Value> SomeRowsProduct::multiply(Value firstRow, Value firstPanel, function_ref<void()> startRows, function_ref<void()> readOthers) {
  this->firstRow = firstRow;
  findLane();
  int64_t warps = warpsFor(depth);
  ownRows = atByte(b.shared(b.getI8Type(), warps * chainParts() * kPartBytes), b.mul(b.warp(), chainParts() * kPartBytes));
  sumsStart = b.shared(b.getF32Type(), warps * kRows * kWarpColumns);
  // Pair t, columns 2g and 2g + 1.
  for (int64_t panel = 0; panel < kWarpPanels; ++panel)
    ownPanels.push_back(atByte(panelAt(b.add(firstPanel, panel)), b.add(b.mul(inGroup, kPairBytes), b.mul(group, 8))));
  for (int64_t part = 0; part < chainParts(); ++part)
    w.push_back(readWeights(b.i64(0), part));
  b.syncWarp(); // neither LLVM nor ptxas moves a read past this
  startRows();
  fill(b.i64(0), 0, chainParts());
  readOthers();
  SmallVector<Value> sums(sumsFor(depth), b.f32(0));
  sums = join(multiplyChain(b.i64(0), /*isFirst=*/true), std::min(warps, chains()), sums);
  if (rounds() == 1)
    return sums;
  // The last round may have fewer chains.
  int64_t last = chains() % warps ? rounds() - 1 : rounds();
  auto carry = [&] {
    SmallVector<Value> values = sums;
    for (const auto &words : w)
      llvm::append_range(values, words);
    return values;
  };
  auto take = [&](ValueRange values) {
    sums = llvm::to_vector(values.take_front(sums.size()));
    values = values.drop_front(sums.size());
    for (auto &words : w) {
      words = llvm::to_vector(values.take_front(words.size()));
      values = values.drop_front(words.size());
    }
  };
  take(b.loopWithoutUnrolling(b.i64(1), b.i64(last), 1, carry(), [&](Value round, ValueRange before) {
    take(before);
    sums = join(multiplyChain(round, /*isFirst=*/false), warps, sums);
    return carry();
  }));
  return last == rounds() ? sums : join(multiplyChain(b.i64(last), /*isFirst=*/false), chains() % warps, sums);
}

} // namespace xf::gpu
