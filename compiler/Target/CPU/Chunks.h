// Walks over `length` elements 16 at a time.
#ifndef XF_COMPILER_TARGET_CPU_CHUNKS_H
#define XF_COMPILER_TARGET_CPU_CHUNKS_H

#include "compiler/Target/CPU/CodeBuilder.h"

namespace xf::cpu {

/// Takes the chunk's first element, how many elements it has (null: all 16) and the carried values; returns these anew.
using ChunkBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::Value, mlir::ValueRange)>;

/// Emits `body` for whole chunks in a loop and once more for the rest, if there is or may be one.
inline llvm::SmallVector<mlir::Value> forChunks(CodeBuilder &b, mlir::Value length, mlir::ValueRange carried, ChunkBody body) {
  using mlir::Value;
  llvm::SmallVector<Value> values = llvm::to_vector(carried);
  std::optional<int64_t> known = mlir::getConstantIntValue(length);
  Value tail = b.rem(length, b.i64(kLanes)), whole = b.sub(length, tail);
  if (!known || *known >= kLanes)
    values = b.loop(b.i64(0), whole, kLanes, values,
                    [&](Value i, mlir::ValueRange inside) { return body(i, Value(), inside); });
  if (known)
    return *known % kLanes ? body(whole, tail, values) : values;
  return b.choose(
      b.less(b.i64(0), tail), [&] { return body(whole, tail, values); }, [&] { return values; });
}

} // namespace xf::cpu

#endif // XF_COMPILER_TARGET_CPU_CHUNKS_H
