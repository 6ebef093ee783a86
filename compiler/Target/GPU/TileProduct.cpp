// While the threads multiply one part of k, what they read of the next one is under way to their registers.
#include "compiler/Target/GPU/TileProduct.h"

#include "compiler/Target/GPU/ByteWeights.h"
#include "compiler/Target/VectorMath.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace xf::gpu {
namespace {

constexpr int64_t kPanel = codegen::kLanes, kQuad = 4; // weights are read 4 at a time

class TileProduct {
public:
  TileProduct(GpuBuilder &b, const TileShape &shape, const TileOperands &operands)
      : b(b), shape(shape), operands(operands), quads(shape.part * shape.columns / kQuad / shape.threads()),
        elements(shape.rows * shape.part / shape.threads()), rowStride(shape.rows + kQuad) {
    static_assert(kQuad == kWordDepth);
    assert(shape.threads() % shape.columns == 0 && shape.part % kWordDepth == 0);
  }

  SmallVector<Value> run();

private:
  void placeThread();
  SmallVector<Value> read(Value k0);
  SmallVector<Value> readQuads(Value k0);
  SmallVector<Value> readWords(Value k0);
  void write(ValueRange staged);
  void writeQuads(ValueRange staged);
  void writeWords(ValueRange staged);
  void multiply(int64_t count);
  Value clampedK(Value k) { return b.min(k, b.i64(operands.depth - 1)); }

  GpuBuilder &b;
  const TileShape &shape;
  const TileOperands &operands;
  int64_t quads, elements; // of weights and of x that a thread brings to shared memory
  int64_t rowStride;       // of x there, [part][rows]: a multiple of 16 bytes, and off the banks' period
  Value sharedX, sharedW;
  // Of the thread's quads of columns or, of bytes, words of k: their panel, its address, whether it is needed, and where they
  // begin in it: column, and k or word.
  Value panel, weights, isNeeded, lane, firstK;
  SmallVector<Value> sums;
};

/// The thread's share of the part that begins at `k0`. Behind the last k, which nobody multiplies, the last one is read again.
SmallVector<Value> TileProduct::read(Value k0) {
  Type f32 = b.getF32Type();
  SmallVector<Value> staged;
  for (int64_t i = 0; i < elements; ++i) {
    Value number = b.add(b.thread(), i * shape.threads());
    Value k = b.rem(number, b.i64(shape.part)), row = b.div(number, b.i64(shape.part));
    staged.push_back(b.load(f32, operands.x(row, clampedK(b.add(k0, k)))));
  }
  auto zeros = [&] {
    Type word = operands.ofBytes ? b.getI32Type() : f32;
    return SmallVector<Value>(operands.ofBytes ? quads : quads * kQuad, b.create<arith::ConstantOp>(b.getZeroAttr(word)));
  };
  auto weights = [&] { return operands.ofBytes ? readWords(k0) : readQuads(k0); };
  llvm::append_range(staged, isNeeded ? b.choose(isNeeded, weights, zeros) : weights());
  b.holdReads();
  return staged;
}

SmallVector<Value> TileProduct::readQuads(Value k0) {
  SmallVector<Value> values;
  for (int64_t i = 0; i < quads; ++i) {
    Value k = clampedK(b.add(k0, b.add(firstK, i * shape.threads() / (shape.columns / kQuad))));
    llvm::append_range(values, b.loadMany(b.at(weights, b.add(b.mul(k, kPanel), lane), b.getF32Type()), kQuad));
  }
  return values;
}

SmallVector<Value> TileProduct::readWords(Value k0) {
  Type word = b.getI32Type();
  int64_t groups = llvm::divideCeil(operands.depth, kWordDepth);
  SmallVector<Value> values;
  for (int64_t i = 0; i < quads; ++i) {
    Value group = b.add(b.div(k0, b.i64(kWordDepth)), b.add(firstK, i * shape.threads() / shape.columns));
    values.push_back(b.load(word, b.at(weights, b.add(b.mul(b.min(group, b.i64(groups - 1)), kPanel), lane), word)));
  }
  return values;
}

void TileProduct::write(ValueRange staged) {
  Type f32 = b.getF32Type();
  for (int64_t i = 0; i < elements; ++i) {
    Value number = b.add(b.thread(), i * shape.threads());
    Value k = b.rem(number, b.i64(shape.part)), row = b.div(number, b.i64(shape.part));
    b.store(staged[i], b.at(sharedX, b.add(b.mul(k, rowStride), row), f32));
  }
  operands.ofBytes ? writeWords(staged.drop_front(elements)) : writeQuads(staged.drop_front(elements));
}

void TileProduct::writeQuads(ValueRange staged) {
  for (int64_t i = 0; i < quads; ++i) {
    Value k = b.add(firstK, i * shape.threads() / (shape.columns / kQuad));
    Value target = b.add(b.mul(k, shape.columns), b.add(b.mul(panel, kPanel), lane));
    b.storeMany(llvm::to_vector(staged.slice(i * kQuad, kQuad)), b.at(sharedW, target, b.getF32Type()));
  }
}

void TileProduct::writeWords(ValueRange staged) {
  Value column = b.add(b.mul(panel, kPanel), lane);
  for (int64_t i = 0; i < quads; ++i) {
    Value k = b.mul(b.add(firstK, i * shape.threads() / shape.columns), kWordDepth);
    for (auto [u, weight] : llvm::enumerate(widenBytes(b, staged[i])))
      b.store(weight, b.at(sharedW, b.add(b.mul(b.add(k, u), shape.columns), column), b.getF32Type()));
  }
}

/// Adds the products of the first `count` k of the part in shared memory.
void TileProduct::multiply(int64_t count) {
  Type f32 = b.getF32Type();
  Value ownRow = shape.ownRow(b), ownColumn = shape.ownColumn(b);
  for (int64_t k = 0; k < count; ++k) {
    auto x = b.loadMany(b.at(sharedX, b.add(ownRow, k * rowStride), f32), shape.ownRows);
    auto w = b.loadMany(b.at(sharedW, b.add(ownColumn, k * shape.columns), f32), shape.ownColumns);
    for (int64_t i = 0; i < shape.ownRows; ++i)
      for (int64_t j = 0; j < shape.ownColumns; ++j) {
        Value &sum = sums[i * shape.ownColumns + j];
        sum = codegen::fusedMultiplyAdd(b, x[i], w[j], sum);
      }
  }
}

void TileProduct::placeThread() {
  if (operands.ofBytes) {
    // Neighbouring threads read the words of neighbouring columns.
    Value column = b.rem(b.thread(), b.i64(shape.columns));
    panel = b.div(column, b.i64(kPanel)), lane = b.rem(column, b.i64(kPanel));
    firstK = b.div(b.thread(), b.i64(shape.columns));
  } else {
    // Neighbouring threads read a k of all panels, 16 bytes a thread.
    Value quad = b.rem(b.thread(), b.i64(shape.columns / kQuad));
    panel = b.div(quad, b.i64(kPanel / kQuad));
    lane = b.mul(b.rem(quad, b.i64(kPanel / kQuad)), kQuad);
    firstK = b.div(b.thread(), b.i64(shape.columns / kQuad));
  }
  weights = operands.weights(panel);
  if (operands.isNeeded)
    isNeeded = operands.isNeeded(panel);
}

SmallVector<Value> TileProduct::run() {
  Type f32 = b.getF32Type();
  sharedX = b.shared(f32, shape.part * rowStride);
  sharedW = b.shared(f32, shape.part * shape.columns);
  placeThread();
  sums.assign(shape.ownRows * shape.ownColumns, b.f32(0));
  int64_t whole = operands.depth / shape.part * shape.part, tail = operands.depth - whole;
  SmallVector<Value> carried = sums;
  llvm::append_range(carried, read(b.i64(0)));
  carried = b.loop(b.i64(0), b.i64(whole), shape.part, carried, [&](Value k0, ValueRange inside) {
    b.barrier(); // the part before is no longer read
    write(inside.drop_front(sums.size()));
    b.barrier();
    SmallVector<Value> next = read(b.add(k0, shape.part));
    sums = llvm::to_vector(inside.take_front(sums.size()));
    multiply(shape.part);
    SmallVector<Value> after = sums;
    llvm::append_range(after, next);
    return after;
  });
  sums.assign(carried.begin(), carried.begin() + shape.ownRows * shape.ownColumns);
  if (tail) {
    b.barrier();
    write(ArrayRef<Value>(carried).drop_front(sums.size()));
    b.barrier();
    multiply(tail);
  }
  return sums;
}

} // namespace

SmallVector<Value> multiplyTile(GpuBuilder &b, const TileShape &shape, const TileOperands &operands) {
  return TileProduct(b, shape, operands).run();
}

} // namespace xf::gpu
