// The sum or maximum of a row's elements. Unlike a softmax's, a maximum is NaN if any element is.
#ifndef XF_COMPILER_TARGET_ROWREDUCTION_H
#define XF_COMPILER_TARGET_ROWREDUCTION_H

#include "compiler/Target/CodeBuilder.h"
#include "dialect/IR/Xf.h"

namespace xf::codegen {

class RowReduction {
public:
  explicit RowReduction(mlir::xf::ReduceOp op);

  /// The neutral element, as a scalar.
  mlir::Value identity(CodeBuilder &b) const;
  /// Vectors or scalars.
  mlir::Value combine(CodeBuilder &b, mlir::Value value, mlir::Value running) const;
  /// Of a vector's lanes (codegen::reduceLanes).
  mlir::Value reduceLanes(CodeBuilder &b, mlir::Value vector) const;

private:
  mlir::xf::ReduceKind kind;
  mlir::Type element;
  bool ofMagnitudes; // of which none is below 0
};

} // namespace xf::codegen

#endif // XF_COMPILER_TARGET_ROWREDUCTION_H
