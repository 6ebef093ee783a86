// A scalar region for 16 elements at once.
//
// A region of arith and math ops says what one element becomes. Kernels walk over 16 elements at a time, of which some
// operands are the same for all (uniform: a scalar) and others differ (a vector). Ops on uniform operands stay scalar,
// once for the 16; the others become vector ops. A GPU's thread has one element at a time: what differs is a scalar, too, and is said to differ.
//
// Values are emitted on demand, so that a part of a region (a bound inside a mask) can be had alone. Indices are i64
// when uniform, i32 along the lanes, where sizes are far below 2^31.
#ifndef XF_COMPILER_TARGET_REGIONVECTORIZER_H
#define XF_COMPILER_TARGET_REGIONVECTORIZER_H

#include "compiler/Target/CodeBuilder.h"
#include "dialect/IR/Xf.h"

#include <functional>

namespace xf::codegen {

/// Copies share what is bound and emitted so far; a copy for each nested scope keeps definitions before their uses.
class RegionVectorizer {
public:
  /// Emits a read of a tensor; `indices` are i64 scalars or vector<16xi32>.
  using Reader = std::function<mlir::Value(RegionVectorizer &, mlir::xf::AtOp)>;

  explicit RegionVectorizer(CodeBuilder &builder, Reader reader = nullptr) : b(builder), reader(std::move(reader)) {}

  /// Says what `value` (a region's argument) is: a scalar (i64 for an index) or a vector<16x…>. `isElement`: a scalar that is one element's, where
  /// other threads or iterations compute the other elements; it is computed as a lane would be.
  void bind(mlir::Value value, mlir::Value emitted, bool isElement = false) {
    mapping[value] = emitted;
    if (isElement)
      elements.insert(emitted);
  }
  /// Says that the index `value` is base + lane.
  void bindLanes(mlir::Value value, mlir::Value base);

  /// The value, emitted if it is not yet: a scalar if it is uniform, else a vector.
  mlir::Value emit(mlir::Value value);
  /// The same as a vector in any case.
  mlir::Value emitVector(mlir::Value value) { return toVector(emit(value)); }
  /// What `body` yields.
  llvm::SmallVector<mlir::Value> emitYields(mlir::Block &body);

  static bool isVector(mlir::Value value) { return llvm::isa<mlir::VectorType>(value.getType()); }
  /// Broadcasts a scalar. An i64 is an index and narrows to i32, as everywhere along the lanes, unless `wide`.
  mlir::Value toVector(mlir::Value value, bool wide = false);

private:
  mlir::Value emitOp(mlir::Operation *op);
  /// Whether other elements have other values.
  bool differs(mlir::Value emitted) const { return emitted && (isVector(emitted) || elements.contains(emitted)); }
  mlir::Value emitExtremum(mlir::Operation *op, mlir::Value x, mlir::Value y);
  mlir::Value castIndex(mlir::Operation *op, mlir::Value operand);

  CodeBuilder &b;
  Reader reader;
  llvm::DenseMap<mlir::Value, mlir::Value> mapping;
  llvm::DenseSet<mlir::Value> elements; // scalars that are one element's
};

} // namespace xf::codegen

#endif // XF_COMPILER_TARGET_REGIONVECTORIZER_H
