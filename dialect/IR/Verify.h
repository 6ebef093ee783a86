// Checks and syntax that several ops share.
#ifndef XF_DIALECT_IR_VERIFY_H
#define XF_DIALECT_IR_VERIFY_H

#include "dialect/IR/Xf.h"

namespace mlir::xf {

/// Each operand has a map of its rank, whose targets agree in size with `shape`.
LogicalResult verifyIndexMaps(Operation *op, ValueRange operands, ArrayAttr maps, RankedTensorType shape);
/// The region is one block, which takes `args` and yields `results`.
LogicalResult verifyBody(Operation *op, Region &body, TypeRange args, TypeRange results);
/// The same, and the block computes on scalars: its own, constants, and indices from outside.
LogicalResult verifyScalarBody(Operation *op, Region &body, TypeRange args, TypeRange results);
/// The block computes on scalars only.
LogicalResult verifyScalarOps(Block &block);
/// `axis` is a dimension of `type`.
LogicalResult verifyAxis(Operation *op, int64_t axis, RankedTensorType type);
/// The body of a scan over tensors of one shape: states, then elements.
LogicalResult verifyScanBody(Operation *op, Region &body, ValueRange inputs, int64_t axis, size_t states);
/// All types have one shape, and there is one.
LogicalResult verifySameShapes(Operation *op, TypeRange types);
/// result = x weightᵀ over the last dimension.
LogicalResult verifyProduct(Operation *op, RankedTensorType x, RankedTensorType weight, RankedTensorType result);
/// `spans` is i32 [B, 2], and `all` is `rows` [B, ..] with its sentences back to back along `axis`: [1, ..].
LogicalResult verifySpans(Operation *op, Value spans, RankedTensorType all, RankedTensorType rows, unsigned axis);
SmallVector<Type> elementTypes(TypeRange types);
/// Whether `type` can be packed keys or values of attention: [batch, heads, positions, width].
inline bool isPackable(RankedTensorType type) { return type.getRank() == 4 && !type.isDynamicDim(3) && isFactorOfAttention(type.getElementType()); }

} // namespace mlir::xf

#endif // XF_DIALECT_IR_VERIFY_H
