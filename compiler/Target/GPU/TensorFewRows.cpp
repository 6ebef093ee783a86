// Few rows, as in a decoder's step: a warp computes a panel's columns of 8 rows, all from global memory. It waits for no
// other warp and has several steps' reads under way.
//
// The weights are always the operand with 16 rows, a panel's 16 columns, and 8 rows of x the other one. So the memory's
// layout is the registers' layout: a word of a panel, (k pair, column), is a word of A, and a word of a row of x is a word
// of B. Each element is one chain of the same instruction over ascending k from +0, 16 k at a time with zeros behind the
// last ones up to a multiple of 32, for one row as for thousands: its bits depend neither on the other rows nor on the kernel.
//
// Which column is which row of A is free. Here rows g and g + 8 are columns 2g and 2g + 1: a lane then reads both at once.
#include "compiler/Target/GPU/TensorProduct.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace xf::gpu {

static constexpr int64_t kUnroll = 8;

TensorProduct::TensorProduct(GpuBuilder &b, const TensorOperands &operands)
    : b(b), operands(operands), factor(operands.factor), word(b.getI32Type()), depth(operands.depth),
      panels(llvm::divideCeil(operands.columns, kPanelColumns)), pairs(llvm::divideCeil(operands.depth, 2)) {}

Value TensorProduct::rowsAligned(int64_t bytes) {
  Value start = b.create<LLVM::PtrToIntOp>(b.getI64Type(), operands.x);
  Value either = b.create<arith::OrIOp>(start, b.mul(operands.rowStride, 2));
  return b.equal(b.create<arith::AndIOp>(either, b.i64(bytes - 1)), b.i64(0));
}

/// The lane's word of x at its k + `k`.
Value FewRowsProduct::xWord(Value k, bool isAligned) {
  Value address = b.at(x, k, factor);
  return isAligned ? b.load(word, address) : joinPair(b, b.load(factor, address), b.load(factor, b.at(address, 1, factor)));
}

FewRowsProduct::Step FewRowsProduct::read(Value k, bool isAligned) {
  Step step;
  for (int64_t half : {0, 8}) {
    Value first = b.add(k, half);
    // A pair's words are as many elements as 2 x 16.
    step.weights.append(b.loadMany(b.at(weights, b.mul(first, kPanelColumns), factor), 2, word));
    step.x.push_back(xWord(first, isAligned));
  }
  return step;
}

/// The step that `depth` ends in, from `k` on: what is behind it is zero. Without branches: all lanes of a warp must come to
/// a multiplication together, and LLVM does not know that. What is not needed is read from the last place there is.
FewRowsProduct::Step FewRowsProduct::readLast(int64_t k) {
  Step step;
  Value ownFirst = b.mul(inGroup, 2);
  for (int64_t half : {0, 8}) {
    Value first = b.i64(k + half);
    auto exists = [&](int64_t i) { return b.less(b.add(ownFirst, b.add(first, i)), b.i64(depth)); };
    Value pair = b.min(first, b.sub(b.i64(2 * pairs - 2), ownFirst));
    for (Value loaded : b.loadMany(b.at(weights, b.mul(pair, kPanelColumns), factor), 2, word))
      step.weights.push_back(zeroUnless(b, exists(0), loaded));
    auto element = [&](int64_t i) {
      Value place = b.min(b.add(first, i), b.sub(b.i64(depth - 1), ownFirst));
      return zeroUnless(b, exists(i), b.load(factor, b.at(x, place, factor)));
    };
    Value low = element(0);
    step.x.push_back(joinPair(b, low, element(1)));
  }
  return step;
}

SmallVector<Value> FewRowsProduct::chain(bool isAligned) {
  SmallVector<Value> sums(4, b.f32(0));
  auto steps = [&](Value k, int64_t count) {
    SmallVector<Step> all;
    for (int64_t i = 0; i < count; ++i)
      all.push_back(read(b.add(k, i * kStepDepth), isAligned));
    for (const Step &step : all)
      sums = multiplyTiles(b, factor, step.weights, step.x, sums);
  };
  int64_t whole = depth / kStepDepth * kStepDepth, unroll = isAligned ? kUnroll : 1;
  int64_t looped = whole / (unroll * kStepDepth) * (unroll * kStepDepth);
  if (looped)
    sums = b.loop(b.i64(0), b.i64(looped), unroll * kStepDepth, sums, [&](Value k, ValueRange carried) {
      sums = llvm::to_vector(carried);
      steps(k, unroll);
      return sums;
    });
  steps(b.i64(looped), (whole - looped) / kStepDepth);
  if (whole < depth) {
    Step last = readLast(whole);
    sums = multiplyTiles(b, factor, last.weights, last.x, sums);
  }
  // Zeros up to a whole part, as there are with many rows: they change nothing, but the sign of a sum that has become -0.
  Value zero = b.create<arith::ConstantIntOp>(0, 32);
  for (int64_t k = llvm::alignTo(depth, kStepDepth); k < int64_t(llvm::alignTo(depth, kPartDepth)); k += kStepDepth)
    sums = multiplyTiles(b, factor, SmallVector<Value>(4, zero), {zero, zero}, sums);
  return sums;
}

Value FewRowsProduct::rowOf(GpuBuilder &b, int64_t i) { return b.add(b.mul(b.rem(b.lane(), b.i64(4)), 2), i % 2); }
Value FewRowsProduct::columnOf(GpuBuilder &b, int64_t i) { return b.add(b.mul(b.div(b.lane(), b.i64(4)), 2), i / 2); }

SmallVector<Value> FewRowsProduct::multiply(Value firstRow, Value panel) {
  Value group = b.div(b.lane(), b.i64(4));
  inGroup = b.rem(b.lane(), b.i64(4));
  // Words of weights: pair t, columns 2g and 2g + 1.
  weights = b.at(panelAt(panel), b.add(b.mul(inGroup, kPanelColumns), b.mul(group, 2)), word);
  x = b.at(xRow(b.add(firstRow, group)), b.mul(inGroup, 2), factor);
  return b.choose(rowsAligned(4), [&] { return chain(true); }, [&] { return chain(false); });
}

} // namespace xf::gpu
