// Walks over elements 16 at a time.
#ifndef XF_COMPILER_TARGET_CPU_CHUNKS_H
#define XF_COMPILER_TARGET_CPU_CHUNKS_H

#include "compiler/Target/CodeBuilder.h"

namespace xf::cpu {

/// Takes the chunk's first element, how many elements it has (null: all 16) and the carried values; returns these anew.
using ChunkBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::Value, mlir::ValueRange)>;

/// Emits `body` for whole chunks of the elements from `begin`, a multiple of 16, to `end` in a loop, and once more for the rest, if there
/// is or may be one. `end` is `begin` at least.
inline llvm::SmallVector<mlir::Value> forChunks(CodeBuilder &b, mlir::Value begin, mlir::Value end, mlir::ValueRange carried, ChunkBody body) {
  using mlir::Value;
  llvm::SmallVector<Value> values = llvm::to_vector(carried);
  std::optional<int64_t> constantEnd = mlir::getConstantIntValue(end);
  Value tail = b.rem(end, b.i64(kLanes)), whole = b.sub(end, tail);
  if (!constantEnd || *constantEnd >= kLanes)
    values = b.loop(begin, whole, kLanes, values, [&](Value i, mlir::ValueRange inside) { return body(i, Value(), inside); });
  if (constantEnd)
    return *constantEnd % kLanes ? body(whole, tail, values) : values;
  return b.choose(b.less(b.i64(0), tail), [&] { return body(whole, tail, values); }, [&] { return values; });
}

/// The same from the first element on.
inline llvm::SmallVector<mlir::Value> forChunks(CodeBuilder &b, mlir::Value length, mlir::ValueRange carried, ChunkBody body) {
  return forChunks(b, b.i64(0), length, carried, body);
}

/// The same with one carried value, first `start`, of which `body` takes the old one and returns the new one.
inline mlir::Value accumulateChunks(CodeBuilder &b, mlir::Value begin, mlir::Value end, mlir::Value start,
                                    llvm::function_ref<mlir::Value(mlir::Value first, mlir::Value count, mlir::Value before)> body) {
  return forChunks(b, begin, end, start, [&](mlir::Value first, mlir::Value count, mlir::ValueRange carried) {
    return llvm::SmallVector<mlir::Value>{body(first, count, carried[0])};
  })[0];
}

inline mlir::Value accumulateChunks(CodeBuilder &b, mlir::Value length, mlir::Value start,
                                    llvm::function_ref<mlir::Value(mlir::Value first, mlir::Value count, mlir::Value before)> body) {
  return accumulateChunks(b, b.i64(0), length, start, body);
}

/// The same, with nothing carried: `body` takes the chunk's first element, and how many it has.
using PlainChunkBody = llvm::function_ref<void(mlir::Value, mlir::Value)>;
inline void forChunks(CodeBuilder &b, mlir::Value begin, mlir::Value end, PlainChunkBody body) {
  forChunks(b, begin, end, mlir::ValueRange(), [&](mlir::Value first, mlir::Value count, mlir::ValueRange) {
    body(first, count);
    return llvm::SmallVector<mlir::Value>();
  });
}
inline void forChunks(CodeBuilder &b, mlir::Value length, PlainChunkBody body) { forChunks(b, b.i64(0), length, body); }

} // namespace xf::cpu

#endif // XF_COMPILER_TARGET_CPU_CHUNKS_H
