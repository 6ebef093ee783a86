// Moving rows of states for a search. What it decides is in AdvanceKernel.cpp.
#include "compiler/Target/GPU/GpuBuilder.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace xf::gpu {

// A warp copies a row of one outer index of a layer; most rows stay where they are. A lane reads kAtOnce elements before it writes the first: no
// move reads what a move of the same list writes.
static constexpr int64_t kWarps = 4, kThreads = kWarps * kWarp, kAtOnce = 4;

Kernel emitMoveRows(mlir::gpu::GPUModuleOp module, StringRef name) {
  enum View : unsigned { state, moves };
  enum StateDim : unsigned { layers, outer, unitPositions, unitBytes, row = unitPositions };
  GpuBuilder b(module, name, 2, kThreads, module.getLoc());
  Type byte = b.getI8Type(), word = b.getI32Type(), words = VectorType::get({4}, word);
  Value task = b.add(b.mul(b.block(), kWarps), b.warp());
  Value tasks = b.mul(b.mul(b.size(moves, 0), b.size(state, layers)), b.size(state, outer));
  SmallVector<Value> indices = b.delinearize(b.min(task, b.sub(tasks, 1)), {b.size(moves, 0), b.size(state, layers), b.size(state, outer)});
  auto moveWord = [&](int64_t i) {
    Value offset = b.add(b.mul(indices[0], b.stride(moves, 0)), i);
    return b.toI64(b.load(word, b.at(b.data(moves), offset, word)));
  };
  Value start = b.add(b.mul(indices[1], b.stride(state, layers)), b.mul(indices[2], b.stride(state, outer)));
  auto rowAt = [&](Value index) { return b.at(b.data(state), b.add(start, b.mul(index, b.stride(state, row))), byte); };
  // A state without positions is one unit.
  Value positions = b.size(state, unitPositions), one = b.i64(1);
  Value units = b.divide(b.add(moveWord(2), b.sub(b.max(positions, one), 1)), b.max(positions, one));
  units = b.create<arith::SelectOp>(b.less(b.i64(0), positions), units, one);
  // Moves that a device has planned have a slot for each row, also for those that stay.
  Value rests = b.either(b.equal(moveWord(0), moveWord(1)), b.create<arith::CmpIOp>(arith::CmpIPredicate::sge, task, tasks));
  units = b.create<arith::SelectOp>(rests, b.i64(0), units);
  Value from = rowAt(moveWord(0)), to = rowAt(moveWord(1)), bytes = b.mul(units, b.size(state, unitBytes));
  auto copy = [&](Type element, Value count) {
    Value whole = b.mul(b.div(count, kWarp * kAtOnce), kWarp * kAtOnce);
    b.loop(b.lane(), whole, kWarp * kAtOnce, [&](Value i) {
      SmallVector<Value> read;
      for (int64_t n = 0; n < kAtOnce; ++n)
        read.push_back(b.load(element, b.at(from, b.add(i, n * kWarp), element)));
      b.holdReads();
      for (int64_t n = 0; n < kAtOnce; ++n)
        b.store(read[n], b.at(to, b.add(i, n * kWarp), element));
    });
    b.loop(b.add(whole, b.lane()), count, kWarp, [&](Value i) { b.store(b.load(element, b.at(from, i, element)), b.at(to, i, element)); });
  };
  // Heads of a few elements are no multiple of 16 bytes, masks are of bytes.
  Value all = bytes;
  for (Value stride : {b.stride(state, layers), b.stride(state, outer), b.stride(state, row)})
    all = b.create<arith::OrIOp>(all, stride);
  b.ifElse(b.equal(b.rem(all, 16), b.i64(0)), [&] { copy(words, b.div(bytes, 16)); }, [&] { copy(byte, bytes); });
  b.finish();
  return {2, {{name.str(), kThreads, {{moves, 0}, {state, layers}, {state, outer}}, kWarps, 1, std::nullopt}}};
}

} // namespace xf::gpu
