#include "compiler/Conversion/XfToLLVM/PlanBuilder.h"

#include "runtime/abi/xf_abi.h"

using namespace mlir;

namespace xf {

Value PlanBuilder::constant(int64_t value) { return LLVM::ConstantOp::create(builder, loc, builder.getI64Type(), builder.getI64IntegerAttr(value)); }

Value PlanBuilder::add(Value a, Value b) { return LLVM::AddOp::create(builder, loc, a, b); }
Value PlanBuilder::mul(Value a, Value b) { return LLVM::MulOp::create(builder, loc, a, b); }

Value PlanBuilder::max(Value a, Value b) { return LLVM::SMaxOp::create(builder, loc, a, b); }

Value PlanBuilder::roundUp(Value a, int64_t multiple) {
  return LLVM::AndOp::create(builder, loc, add(a, constant(multiple - 1)), constant(-multiple));
}

Value PlanBuilder::advance(Value base, Value bytes) {
  return LLVM::GEPOp::create(builder, loc, ptr(), builder.getI8Type(), base, ArrayRef<LLVM::GEPArg>{bytes});
}

Value PlanBuilder::advance(Value base, int64_t bytes) { return bytes == 0 ? base : advance(base, constant(bytes)); }

Value PlanBuilder::load(Type type, Value base, int64_t bytes) { return LLVM::LoadOp::create(builder, loc, type, advance(base, bytes)); }

void PlanBuilder::store(Value value, Value base, int64_t bytes) { LLVM::StoreOp::create(builder, loc, value, advance(base, bytes)); }

void PlanBuilder::loadDims() {
  Value sizes = contextField(offsetof(xf_abi_context, dims)), maxSizes = contextField(offsetof(xf_abi_context, capacities));
  for (const auto &dim : layout.dims) {
    dims[dim.getKey()] = load(builder.getI64Type(), sizes, 8 * dim.getValue());
    capacities[dim.getKey()] = load(builder.getI64Type(), maxSizes, 8 * dim.getValue());
  }
}

Value PlanBuilder::evaluate(const Monomial &monomial) {
  if (monomial.isConstant())
    return constant(monomial.coefficient);
  Value product;
  for (const Extent &extent : monomial.extents) {
    Value size = (extent.isCapacity ? capacities : dims).lookup(extent.dim);
    if (extent.multiple > 1)
      size = roundUp(size, extent.multiple);
    product = product ? mul(product, size) : size;
  }
  return monomial.coefficient == 1 ? product : mul(product, constant(monomial.coefficient));
}

} // namespace xf
