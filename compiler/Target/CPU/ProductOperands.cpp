#include "compiler/Target/CPU/ProductOperands.h"

using namespace mlir;

namespace xf::cpu {

namespace {
struct Operand {
  Value ProductOperands::*member;
  enum { integer, address, flag } type;
  bool isOfBlock = false; // not of a micro-kernel
};
} // namespace

/// In the order in which functions take them.
static constexpr Operand kOperands[] = {
    {&ProductOperands::rows, Operand::integer, /*isOfBlock=*/true},
    {&ProductOperands::a, Operand::address},
    {&ProductOperands::lda, Operand::integer},
    {&ProductOperands::step, Operand::integer},
    {&ProductOperands::b, Operand::address},
    {&ProductOperands::panelStride, Operand::integer},
    {&ProductOperands::c, Operand::address},
    {&ProductOperands::ldc, Operand::integer},
    {&ProductOperands::depth, Operand::integer},
    {&ProductOperands::panels, Operand::integer, /*isOfBlock=*/true},
    {&ProductOperands::ahead, Operand::address},
    {&ProductOperands::aheadPanel, Operand::integer},
    {&ProductOperands::aheadStep, Operand::integer},
    {&ProductOperands::accumulates, Operand::flag},
};

static auto operandsOf(ProductFunction function) {
  return llvm::make_filter_range(kOperands, [=](const Operand &operand) { return function == ProductFunction::block || !operand.isOfBlock; });
}

SmallVector<Type> productTypes(MLIRContext *context, ProductFunction function) {
  SmallVector<Type> types;
  for (const Operand &operand : operandsOf(function))
    types.push_back(operand.type == Operand::address ? Type(LLVM::LLVMPointerType::get(context))
                                                     : IntegerType::get(context, operand.type == Operand::flag ? 1 : 64));
  return types;
}

ProductOperands productArguments(CodeBuilder &b, ProductFunction function) {
  ProductOperands operands;
  for (auto [i, operand] : llvm::enumerate(operandsOf(function)))
    operands.*operand.member = b.argument(i);
  return operands;
}

SmallVector<Value> inOrder(const ProductOperands &operands, ProductFunction function) {
  SmallVector<Value> values;
  for (const Operand &operand : operandsOf(function))
    values.push_back(operands.*operand.member);
  return values;
}

} // namespace xf::cpu
