// While the threads multiply one part of k, what they read of the next one is under way to their registers.
#include "compiler/Target/GPU/ChooseProduct.h"

#include "compiler/Target/CPU/VectorMath.h"

using namespace mlir;

namespace xf::gpu {
namespace {

constexpr int64_t kPanel = cpu::kLanes, kQuad = 4; // weights are read 4 at a time

class TileProduct {
public:
  TileProduct(GpuBuilder &b, const TileShape &shape, const TileOperands &operands)
      : b(b), shape(shape), operands(operands), quads(shape.part * TileShape::kColumns / kQuad / shape.threads()),
        elements(shape.rows * shape.part / shape.threads()), rowStride(shape.rows + kQuad) {}

  SmallVector<Value> run();

private:
  SmallVector<Value> read(Value k0);
  void write(ValueRange staged);
  void multiply(int64_t count);
  Value clampedK(Value k) { return b.min(k, b.i64(operands.depth - 1)); }

  GpuBuilder &b;
  const TileShape &shape;
  const TileOperands &operands;
  int64_t quads, elements; // of weights and of x that a thread brings to shared memory
  int64_t rowStride;       // of x there, [part][rows]: a multiple of 16 bytes, and off the banks' period
  Value sharedX, sharedW;
  Value panel, weights, isNeeded, lane, firstK; // of the thread's quads
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
  auto quadsOf = [&] {
    SmallVector<Value> values;
    for (int64_t i = 0; i < quads; ++i) {
      Value k = clampedK(b.add(k0, b.add(firstK, i * shape.threads() / kWarp)));
      llvm::append_range(values, b.loadMany(b.at(weights, b.add(b.mul(k, kPanel), lane), f32), kQuad));
    }
    return values;
  };
  auto zeros = [&] { return SmallVector<Value>(quads * kQuad, b.f32(0)); };
  llvm::append_range(staged, b.choose(isNeeded, quadsOf, zeros));
  return staged;
}

void TileProduct::write(ValueRange staged) {
  Type f32 = b.getF32Type();
  for (int64_t i = 0; i < elements; ++i) {
    Value number = b.add(b.thread(), i * shape.threads());
    Value k = b.rem(number, b.i64(shape.part)), row = b.div(number, b.i64(shape.part));
    b.store(staged[i], b.at(sharedX, b.add(b.mul(k, rowStride), row), f32));
  }
  for (int64_t i = 0; i < quads; ++i) {
    Value k = b.add(firstK, i * shape.threads() / kWarp);
    Value target = b.add(b.mul(k, TileShape::kColumns), b.add(b.mul(panel, kPanel), lane));
    b.storeMany(llvm::to_vector(staged.slice(elements + i * kQuad, kQuad)), b.at(sharedW, target, f32));
  }
}

/// Adds the products of the first `count` k of the part in shared memory.
void TileProduct::multiply(int64_t count) {
  Type f32 = b.getF32Type();
  Value ownRow = shape.ownRow(b), ownColumn = shape.ownColumn(b);
  for (int64_t k = 0; k < count; ++k) {
    auto x = b.loadMany(b.at(sharedX, b.add(ownRow, k * rowStride), f32), shape.ownRows);
    auto w = b.loadMany(b.at(sharedW, b.add(ownColumn, k * TileShape::kColumns), f32), shape.ownColumns);
    for (int64_t i = 0; i < shape.ownRows; ++i)
      for (int64_t j = 0; j < shape.ownColumns; ++j) {
        Value &sum = sums[i * shape.ownColumns + j];
        sum = cpu::fusedMultiplyAdd(b, x[i], w[j], sum);
      }
  }
}

SmallVector<Value> TileProduct::run() {
  Type f32 = b.getF32Type();
  sharedX = b.shared(f32, shape.part * rowStride);
  sharedW = b.shared(f32, shape.part * TileShape::kColumns);
  // A warp reads a k of all panels, 16 bytes a thread.
  panel = b.div(b.lane(), b.i64(kPanel / kQuad));
  lane = b.mul(b.rem(b.lane(), b.i64(kPanel / kQuad)), kQuad);
  firstK = b.warp();
  weights = operands.weights(panel);
  isNeeded = operands.isNeeded(panel);

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
