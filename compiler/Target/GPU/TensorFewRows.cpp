// Few rows, as in a decoder's step: a panel's columns of 8 rows, all from global memory. Its cost is waiting for memory, so a warp has
// all reads of a chain under way at once, and a block's warps those of all chains.
//
// The weights are always the operand with 16 rows, a panel's 16 columns, and 8 rows of x the other one. So the memory's
// layout is the registers' layout: a word of a panel, (k pair, column), is a word of A, and a word of a row of x is a word
// of B. Each element is the sum of the same chains of the same instruction for one row as for thousands: its bits depend neither on the
// other rows nor on the kernel.
//
// Which column is which row of A is free. Here rows g and g + 8 are columns 2g and 2g + 1: a lane then reads both at once.
#include "compiler/Target/GPU/TensorProduct.h"

using namespace mlir;

namespace xf::gpu {

TensorProduct::TensorProduct(GpuBuilder &b, const TensorOperands &operands)
    : b(b), operands(operands), factor(operands.factor), word(b.getI32Type()), depth(operands.depth),
      panels(llvm::divideCeil(operands.columns, kPanelColumns)), pairs(llvm::divideCeil(operands.depth, 2)) {}

Value TensorProduct::rowsAligned(int64_t bytes) {
  Value start = b.create<LLVM::PtrToIntOp>(b.getI64Type(), operands.x);
  Value either = b.create<arith::OrIOp>(start, b.mul(operands.rowStride, 2));
  return b.equal(b.create<arith::AndIOp>(either, b.i64(bytes - 1)), b.i64(0));
}

SmallVector<Value> TensorProduct::addTo(ValueRange sums, ValueRange chains) {
  return llvm::map_to_vector(llvm::zip(sums, chains),
                             [&](auto pair) -> Value { return b.create<arith::AddFOp>(std::get<0>(pair), std::get<1>(pair)); });
}

/// The lane's word of x at its k + `k`.
Value FewRowsProduct::xWord(Value k, bool isAligned) {
  Value address = b.at(x, k, factor);
  return isAligned ? b.load(word, address) : joinPair(b, b.load(factor, address), b.load(factor, b.at(address, 1, factor)));
}

/// The lane's words of a step from its k + `k` on.
SmallVector<Value> FewRowsProduct::readWeights(Value k) {
  SmallVector<Value> words;
  // A pair's words are as many elements as 2 x 16.
  for (int64_t half : {0, 8})
    words.append(b.loadMany(b.at(weights, b.mul(b.add(k, half), kPanelColumns), factor), 2, word));
  return words;
}

SmallVector<Value> FewRowsProduct::readX(Value k, bool isAligned) { return {xWord(k, isAligned), xWord(b.add(k, 8), isAligned)}; }

/// The step that `depth` ends in, from `k` on, with zeros past the depth. Without branches: all lanes of a warp must come to
/// a multiplication together, and LLVM does not know that. Where there is nothing to read, the last element is read.
FewRowsProduct::Step FewRowsProduct::readLast(Value k) {
  Step step;
  Value ownFirst = b.mul(inGroup, 2);
  for (int64_t half : {0, 8}) {
    Value first = b.add(k, half);
    auto exists = [&](int64_t i) { return b.less(b.add(ownFirst, b.add(first, i)), b.i64(depth)); };
    Value pair = b.min(first, b.sub(b.i64(2 * pairs - 2), ownFirst));
    for (Value loaded : b.loadMany(b.at(weights, b.mul(pair, kPanelColumns), factor), 2, word))
      step.weights.push_back(zeroUnless(b, exists(0), loaded));
    auto element = [&](int64_t i) {
      Value existing = b.min(b.add(first, i), b.sub(b.i64(depth - 1), ownFirst));
      return zeroUnless(b, exists(i), b.load(factor, b.at(x, existing, factor)));
    };
    Value low = element(0);
    step.x.push_back(joinPair(b, low, element(1)));
  }
  return step;
}

/// The chain over `count` k from `firstK` on; if these are less than a chain, they are the last ones.
SmallVector<Value> FewRowsProduct::chain(Value firstK, int64_t count, bool isAligned) {
  SmallVector<Value> sums(kSums, b.f32(0));
  auto multiply = [&](const Step &step) { return multiplyTiles(b, factor, step.weights, step.x, sums); };
  int64_t whole = count / kStepDepth;
  if (isAligned) {
    SmallVector<Step> all;
    for (int64_t i = 0; i < whole; ++i) {
      Value k = b.add(firstK, i * kStepDepth);
      all.push_back({readWeights(k), readX(k, isAligned)});
    }
    for (const Step &step : all)
      sums = multiply(step);
  } else {
    sums = b.loop(b.i64(0), b.i64(whole), 1, sums, [&](Value i, ValueRange carried) {
      sums = llvm::to_vector(carried);
      Value k = b.add(firstK, b.mul(i, kStepDepth));
      return multiply({readWeights(k), readX(k, isAligned)});
    });
  }
  if (count % kStepDepth)
    sums = multiply(readLast(b.add(firstK, whole * kStepDepth)));
  return sums;
}

/// Chain `index`.
SmallVector<Value> FewRowsProduct::anyChain(Value index, bool isAligned) {
  int64_t last = depth % kChainDepth;
  auto whole = [&] { return chain(b.mul(index, kChainDepth), kChainDepth, isAligned); };
  auto rest = [&] { return chain(b.i64(depth - last), last, isAligned); };
  if (!last)
    return whole();
  return depth < kChainDepth ? rest() : b.choose(b.less(index, b.i64(depth / kChainDepth)), whole, rest);
}

Value FewRowsProduct::rowOf(GpuBuilder &b, int64_t i) { return b.add(b.mul(b.rem(b.lane(), b.i64(4)), 2), i % 2); }
Value FewRowsProduct::columnOf(GpuBuilder &b, int64_t i) { return b.add(b.mul(b.div(b.lane(), b.i64(4)), 2), i / 2); }

void FewRowsProduct::findWeights(Value panel) {
  inGroup = b.rem(b.lane(), b.i64(4));
  // Pair t, columns 2g and 2g + 1.
  weights = b.at(panelAt(panel), b.add(b.mul(inGroup, kPanelColumns), b.mul(b.div(b.lane(), b.i64(4)), 2)), word);
}

void FewRowsProduct::findOwn(Value firstRow, Value panel) {
  findWeights(panel);
  x = b.at(xRow(b.add(firstRow, b.div(b.lane(), b.i64(4)))), b.mul(inGroup, 2), factor);
}

SmallVector<Value> FewRowsProduct::multiply(Value firstRow, Value panel) {
  findOwn(firstRow, panel);
  auto all = [&](bool isAligned) {
    return b.loop(b.i64(0), b.i64(chains()), 1, SmallVector<Value>(kSums, b.f32(0)),
                  [&](Value index, ValueRange sums) { return addTo(sums, anyChain(index, isAligned)); });
  };
  return b.choose(rowsAligned(4), [&] { return all(true); }, [&] { return all(false); });
}

int64_t FewRowsProduct::warpsFor(int64_t depth) { return std::min<int64_t>(llvm::divideCeil(depth, kChainDepth), 16); }

/// Leaves the warp's chain in shared memory for the block's other warps.
void FewRowsProduct::share(ValueRange products, Value shared) {
  for (auto [i, product] : llvm::enumerate(products)) {
    Value element = b.add(b.mul(rowOf(b, i), kPanelColumns), columnOf(b, i));
    b.store(product, b.at(shared, b.add(b.mul(b.warp(), kElements), element), b.getF32Type()));
  }
}

/// Adds the chains of the first `count` warps to the thread's sums.
SmallVector<Value> FewRowsProduct::addShared(Value shared, int64_t count, ValueRange sums) {
  Type f32 = b.getF32Type();
  int64_t threads = warpsFor(depth) * kWarp;
  SmallVector<Value> added = llvm::to_vector(sums);
  for (size_t i = 0; i < added.size(); ++i) {
    // Threads past the last element add up others' elements again.
    Value element = b.rem(b.add(b.thread(), i * threads), b.i64(kElements));
    for (int64_t warp = 0; warp < count; ++warp)
      added[i] = b.create<arith::AddFOp>(added[i], b.load(f32, b.at(shared, b.add(element, warp * kElements), f32)));
  }
  return added;
}

SmallVector<Value> FewRowsProduct::multiplyBehind(Value panel, function_ref<Row()> findRow) {
  findWeights(panel);
  int64_t warps = warpsFor(depth), steps = std::min(depth, kChainDepth) / kStepDepth;
  Value firstK = b.mul(b.warp(), kChainDepth);
  SmallVector<SmallVector<Value>> words;
  for (int64_t step = 0; step < steps; ++step)
    words.push_back(readWeights(b.add(firstK, step * kStepDepth)));
  b.syncWarp(); // neither LLVM nor ptxas moves a read past this
  Row row = findRow();
  x = b.at(row.start, b.mul(inGroup, 2), factor);
  auto chain = [&](bool isAligned) {
    SmallVector<SmallVector<Value>> pairs;
    for (int64_t step = 0; step < steps; ++step)
      pairs.push_back(readX(b.add(firstK, step * kStepDepth), isAligned));
    SmallVector<Value> sums(kSums, b.f32(0));
    for (int64_t step = 0; step < steps; ++step)
      sums = multiplyTiles(b, factor, words[step], pairs[step], sums);
    return sums;
  };
  SmallVector<Value> sums = row.isAligned ? b.choose(row.isAligned, [&] { return chain(true); }, [&] { return chain(false); }) : chain(true);
  Value shared = b.shared(b.getF32Type(), warps * kElements);
  share(sums, shared);
  b.barrier();
  return addShared(shared, warps, SmallVector<Value>(llvm::divideCeil(kElements, warps * kWarp), b.f32(0)));
}

SmallVector<Value> FewRowsProduct::multiplyTogether(Value firstRow, Value panel) {
  findOwn(firstRow, panel);
  int64_t warps = warpsFor(depth);
  Value shared = b.shared(b.getF32Type(), warps * kElements), isAligned = rowsAligned(4);
  // As many chains at a time as there are warps.
  auto addSome = [&](Value first, int64_t count, ValueRange sums) {
    auto compute = [&] {
      Value index = b.add(first, b.warp());
      share(b.choose(isAligned, [&] { return anyChain(index, true); }, [&] { return anyChain(index, false); }), shared);
    };
    count == warps ? compute() : b.ifThen(b.less(b.warp(), b.i64(count)), compute);
    b.barrier();
    return addShared(shared, count, sums);
  };
  SmallVector<Value> sums(llvm::divideCeil(kElements, warps * kWarp), b.f32(0));
  int64_t together = chains() / warps * warps;
  sums = b.loop(b.i64(0), b.i64(together), warps, sums, [&](Value first, ValueRange carried) {
    if (chains() > warps)
      b.barrier(); // the chains before are no longer read
    return addSome(first, warps, carried);
  });
  if (together < chains()) {
    b.barrier();
    sums = addSome(b.i64(together), chains() - together, sums);
  }
  return sums;
}

} // namespace xf::gpu
