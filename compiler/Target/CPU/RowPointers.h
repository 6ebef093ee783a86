// Where the rows of a micro-kernel's tile are read, in as few registers and instructions as an address needs.
//
// A pointer runs along every sixth row; the five behind it are 1, 2, 3, 4 and 5 strides away, which are x86's scaled indices of one stride, of
// three and of five. So a tile of 12 rows takes 5 registers, and two additions for each position. LLVM by itself finds either
// an addition for every other row, or a register for each, of which some are spilled. Processors that take in four instructions a cycle
// (Skylake and its likes) have none to spare: the 12 cycles of 24 multiply-adds have 38 that are needed anyway.
#ifndef XF_COMPILER_TARGET_CPU_ROWPOINTERS_H
#define XF_COMPILER_TARGET_CPU_ROWPOINTERS_H

#include "compiler/Target/CodeBuilder.h"

namespace xf::cpu {

class RowPointers {
public:
  using Value = mlir::Value;

  /// `rows` rows of `element`, `stride` elements apart, at their first position.
  RowPointers(codegen::CodeBuilder &b, Value start, Value stride, mlir::Type element, int64_t rows);

  /// The address of what stands `offset` elements behind the position.
  Value at(int64_t row, int64_t offset);

  /// Moves on by `elements`.
  void advance(int64_t elements) { advance(b.i64(elements)); }
  void advance(Value elements);
  /// What a loop carries: a tile's sums, and the pointers behind them.
  llvm::SmallVector<Value> carriedWith(mlir::ValueRange sums) const;
  /// Takes both over from the loop, and returns what stands behind them.
  mlir::ValueRange take(mlir::ValueRange values, llvm::SmallVectorImpl<Value> &sums);

private:
  codegen::CodeBuilder &b;
  mlir::Type element;
  llvm::SmallVector<Value> starts;     // of every sixth row
  llvm::SmallVector<Value> oddStrides; // 1, 3 and 5 strides, as far as they are needed, in bytes
};

} // namespace xf::cpu

#endif // XF_COMPILER_TARGET_CPU_ROWPOINTERS_H
