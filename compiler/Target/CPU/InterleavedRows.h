// Rows of a product in the order in which its innermost loop reads them.
#ifndef XF_COMPILER_TARGET_CPU_INTERLEAVEDROWS_H
#define XF_COMPILER_TARGET_CPU_INTERLEAVEDROWS_H

#include "compiler/Target/CodeBuilder.h"

#include "llvm/Support/MathExtras.h"

namespace xf::cpu {

/// Blocks of rows of f32 that lie between each other: element k of a block's row r is its element k * kPitch + r.
///
/// A tile of 12 rows of 512 elements is 24 KB. In a first-level cache of 32 KB that leaves two of a set's eight lines for the panels that pass
/// through it, and takes them again for each tile, 12 lines at a time every 16 positions. Interleaved, what is needed next is a single stream.
class InterleavedRows {
public:
  /// Rows of a block at most.
  static constexpr int64_t kPitch = 12;

  /// Rows of `depth` elements at most.
  explicit InterleavedRows(int64_t depth) : blockElements(kPitch * llvm::alignTo(depth, kLanes)) {}

  int64_t bytes(int64_t blocks) const { return blocks * blockElements * 4; }
  /// The address of block `block`, of blocks that begin at `start`.
  mlir::Value at(CodeBuilder &b, mlir::Value start, mlir::Value block) const;
  /// Rows as they are: their type (f32 or bf16), where the first one is, and elements from one to the next.
  struct Source {
    mlir::Type element;
    mlir::Value start, stride;
  };
  /// Copies the first `rows` of them, of `length` elements (at most `depth`), to block `block`, with zeros behind an odd length. AVX-512 only.
  void copy(CodeBuilder &b, const Source &source, mlir::Value rows, mlir::Value length, mlir::Value start, mlir::Value block) const;

private:
  int64_t blockElements;
};

} // namespace xf::cpu

#endif // XF_COMPILER_TARGET_CPU_INTERLEAVEDROWS_H
