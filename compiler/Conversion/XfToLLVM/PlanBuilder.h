// Small helpers for emitting plan code: context fields, dimensions, pointers.
#ifndef XF_COMPILER_CONVERSION_XFTOLLVM_PLANBUILDER_H
#define XF_COMPILER_CONVERSION_XFTOLLVM_PLANBUILDER_H

#include "compiler/Conversion/XfToLLVM/DataLayout.h"
#include "compiler/Transforms/Layouts.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"

namespace xf {

class PlanBuilder {
public:
  /// `context` is the plan's xf_abi_context pointer; code is emitted at the builder's insertion point.
  PlanBuilder(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value context, const DataLayout &layout)
      : builder(builder), loc(loc), context(context), layout(layout) {}

  mlir::Type ptr() const { return mlir::LLVM::LLVMPointerType::get(builder.getContext()); }
  mlir::Value constant(int64_t value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value max(mlir::Value a, mlir::Value b);
  /// To a multiple of a power of two.
  mlir::Value roundUp(mlir::Value a, int64_t multiple);
  /// base + bytes
  mlir::Value advance(mlir::Value base, mlir::Value bytes);
  mlir::Value advance(mlir::Value base, int64_t bytes);
  mlir::Value load(mlir::Type type, mlir::Value base, int64_t bytes);
  void store(mlir::Value value, mlir::Value base, int64_t bytes);
  /// A pointer field of the context.
  mlir::Value contextField(size_t offset) { return load(ptr(), context, offset); }
  /// The value of a monomial for this call's dimensions.
  mlir::Value evaluate(const Monomial &monomial);
  /// Loads each dimension once, at a point that must dominate the code that uses them.
  void loadDims();

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Value context;
  const DataLayout &layout;

private:
  llvm::StringMap<mlir::Value> dims, capacities;
};

} // namespace xf

#endif // XF_COMPILER_CONVERSION_XFTOLLVM_PLANBUILDER_H
