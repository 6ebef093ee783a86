// Checks and syntax that several ops share.
#ifndef XF_DIALECT_IR_VERIFY_H
#define XF_DIALECT_IR_VERIFY_H

#include "dialect/IR/Xf.h"

namespace mlir::xf {

/// Each operand has a map of its rank, whose targets agree in size with `shape`.
LogicalResult verifyIndexMaps(Operation *op, ValueRange operands, ArrayAttr maps, RankedTensorType shape);
/// The region takes `args` and yields `results`.
LogicalResult verifyScalarBody(Operation *op, Region &body, TypeRange args, TypeRange results);
/// All types have one shape.
LogicalResult verifySameShapes(Operation *op, TypeRange types);
/// result = x weightᵀ over the last dimension.
LogicalResult verifyProduct(Operation *op, RankedTensorType x, RankedTensorType weight, RankedTensorType result);
SmallVector<Type> elementTypes(TypeRange types);

} // namespace mlir::xf

#endif // XF_DIALECT_IR_VERIFY_H
