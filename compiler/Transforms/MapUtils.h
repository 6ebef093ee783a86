// Helpers on index maps and scalar regions that several passes share.
#ifndef XF_COMPILER_TRANSFORMS_MAPUTILS_H
#define XF_COMPILER_TRANSFORMS_MAPUTILS_H

#include "dialect/IR/Xf.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace xf {

/// The most tensors that a fused op reads: a GPU kernel has XF_ABI_MAX_GPU_VIEWS, the factors and results of a product among them.
constexpr size_t kMaxFusedInputs = 30;

/// Operands and their maps, without repetitions: what a merged op reads.
class MappedInputs {
public:
  /// The index of `value` read through `map`, added if it is new.
  unsigned add(mlir::Value value, llvm::ArrayRef<int64_t> map);
  llvm::ArrayRef<mlir::Value> values() const { return operands; }
  mlir::ArrayAttr maps(mlir::Builder &builder) const;

private:
  llvm::SmallVector<mlir::Value> operands;
  llvm::SmallVector<llvm::SmallVector<int64_t>> indexMaps;
};

/// A map under construction: operands and how they are read.
struct MapBuilder {
  mlir::OpBuilder &builder;
  mlir::Location loc;
  llvm::SmallVector<mlir::Value> inputs = {};
  llvm::SmallVector<mlir::Attribute> maps = {};

  void add(mlir::Value value, llvm::ArrayRef<int64_t> map);
  using Body = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::OpBuilder &, mlir::ValueRange)>;
  /// Its region takes an element of each operand.
  mlir::xf::MapOp create(llvm::ArrayRef<mlir::Type> results, Body body);
};
/// `x` with its elements rounded to those of a smaller type.
mlir::Value roundElements(mlir::OpBuilder &builder, mlir::Value x, mlir::Type element);

/// 0, 1, 2 …
llvm::SmallVector<int64_t> identityMap(int64_t rank);
bool isIdentityMap(llvm::ArrayRef<int64_t> map);
/// A permutation of all `rank` dimensions.
bool isPermutationMap(llvm::ArrayRef<int64_t> map, int64_t rank);
/// Whether a contract's epilogue, whose result has `rank` dimensions, can read an operand through `map`: element by element, or
/// one value a row or a column.
bool fitsEpilogue(llvm::ArrayRef<int64_t> map, int64_t rank);
/// The map of an operand of a producer, seen from the producer's user that reads the producer through `outer`.
llvm::SmallVector<int64_t> composeMaps(llvm::ArrayRef<int64_t> inner, llvm::ArrayRef<int64_t> outer);
/// Clones the body of a single-block region with `args` for its arguments; gives the yielded values.
llvm::SmallVector<mlir::Value> inlineBody(mlir::OpBuilder &builder, mlir::Region &body, mlir::ValueRange args);
/// Clones what computes `value`, which depends on parameters only, at the builder's insertion point.
mlir::Value cloneParameterExpression(mlir::OpBuilder &builder, mlir::Value value, mlir::IRMapping &mapping);

} // namespace xf

#endif // XF_COMPILER_TRANSFORMS_MAPUTILS_H
