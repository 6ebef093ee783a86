#include "compiler/Target/CPU/KernelBuilder.h"

using namespace mlir;

namespace xf::cpu {

/// Rows that are worth a thread of their own.
static constexpr int64_t kRowsPerThread = 32;

static SmallVector<Type> kernelArguments(MLIRContext *context) {
  context->loadDialect<LLVM::LLVMDialect>();
  loadCodeDialects(context);
  Type ptr = LLVM::LLVMPointerType::get(context);
  return {ptr, ptr};
}

KernelBuilder::KernelBuilder(ModuleOp module, StringRef name, Isa isa, Location location)
    : CodeBuilder(module, name, kernelArguments(module.getContext()), isa, location) {
  // Nobody writes to them while kernels run, so their fields stay what they were.
  for (Value pointer : {context(), views()}) {
    unsigned i = cast<BlockArgument>(pointer).getArgNumber();
    function().setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(), getUnitAttr());
    function().setArgAttr(i, LLVM::LLVMDialect::getReadonlyAttrName(), getUnitAttr());
  }
}

Value KernelBuilder::field(Value argument, int64_t offset, Type type) {
  Value &value = fields_[{argument, offset}];
  if (!value) {
    OpBuilder::InsertionGuard guard(*this);
    setInsertionPointToStart(&function().getBody().front());
    Value loaded = create<LLVM::LoadOp>(type, atByte(argument, offset));
    value = type.isInteger(32) ? toI64(loaded) : loaded;
  }
  return value;
}

Value KernelBuilder::thread() { return field(context(), offsetof(xf_abi_context, thread), getI32Type()); }
Value KernelBuilder::threads() { return field(context(), offsetof(xf_abi_context, threads), getI32Type()); }
Value KernelBuilder::scratch() { return field(context(), offsetof(xf_abi_context, scratch), ptrType()); }

Value KernelBuilder::data(unsigned i) { return viewField(i, offsetof(xf_abi_view, data), ptrType()); }
Value KernelBuilder::size(unsigned i, unsigned dim) { return viewField(i, offsetof(xf_abi_view, size) + 8 * dim, getI64Type()); }
Value KernelBuilder::stride(unsigned i, unsigned dim) { return viewField(i, offsetof(xf_abi_view, stride) + 8 * dim, getI64Type()); }

Value KernelBuilder::loadIndex(unsigned i, Value index) {
  Type i32 = getI32Type();
  return toI64(load(i32, at(data(i), mul(index, stride(i, 0)), i32)));
}

std::pair<Value, Value> KernelBuilder::loadSpan(unsigned i, Value index) {
  Type i32 = getI32Type();
  auto member = [&](Value offset) { return toI64(load(i32, at(data(i), offset, i32))); };
  Value first = mul(index, stride(i, 0)), position = member(first);
  return {position, member(add(first, stride(i, 1)))};
}

std::pair<Value, Value> KernelBuilder::share(Value tasks) { return part(tasks, thread(), threads()); }

KernelBuilder::Grid KernelBuilder::grid(Value rows, int64_t maxColumns) {
  Value one = i64(1);
  Value rowParts = max(one, min(threads(), div(rows, i64(kRowsPerThread))));
  Value columns = min(i64(maxColumns), div(threads(), rowParts));
  rowParts = max(one, min(rows, div(threads(), columns)));
  Value row = div(thread(), columns), column = rem(thread(), columns);
  Value part = min(row, rowParts), next = min(add(row, 1), rowParts);
  return {div(mul(rows, part), rowParts), div(mul(rows, next), rowParts), column, columns};
}

void KernelBuilder::barrier() {
  ifThen(less(i64(1), threads()), [&] {
    Value callee = field(context(), offsetof(xf_abi_context, barrier), ptrType());
    auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(getContext()), {ptrType()});
    create<LLVM::CallOp>(type, ValueRange{callee, context()});
  });
}

} // namespace xf::cpu
