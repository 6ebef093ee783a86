#include "compiler/Target/CPU/KernelBuilder.h"

#include "runtime/abi/xf_abi.h"

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
  for (unsigned i : {0u, 1u}) {
    function().setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(), getUnitAttr());
    function().setArgAttr(i, LLVM::LLVMDialect::getReadonlyAttrName(), getUnitAttr());
  }
}

Value KernelBuilder::field(unsigned argumentNumber, int64_t offset, Type type) {
  Value &value = fields_[{argumentNumber, offset}];
  if (!value) {
    OpBuilder::InsertionGuard guard(*this);
    setInsertionPointToStart(&function().getBody().front());
    Value loaded = create<LLVM::LoadOp>(type, atByte(argument(argumentNumber), offset));
    value = type.isInteger(32) ? toI64(loaded) : loaded;
  }
  return value;
}

Value KernelBuilder::thread() { return field(0, offsetof(xf_abi_context, thread), getI32Type()); }
Value KernelBuilder::threads() { return field(0, offsetof(xf_abi_context, threads), getI32Type()); }
Value KernelBuilder::scratch() { return field(0, offsetof(xf_abi_context, scratch), ptrType()); }

Value KernelBuilder::data(unsigned i) {
  return field(1, i * sizeof(xf_abi_view) + offsetof(xf_abi_view, data), ptrType());
}
Value KernelBuilder::size(unsigned i, unsigned dim) {
  return field(1, i * sizeof(xf_abi_view) + offsetof(xf_abi_view, size) + 8 * dim, getI64Type());
}
Value KernelBuilder::stride(unsigned i, unsigned dim) {
  return field(1, i * sizeof(xf_abi_view) + offsetof(xf_abi_view, stride) + 8 * dim, getI64Type());
}

std::pair<Value, Value> KernelBuilder::share(Value tasks) {
  Value first = div(mul(tasks, thread()), threads());
  Value end = div(mul(tasks, add(thread(), 1)), threads());
  return {first, end};
}

KernelBuilder::Grid KernelBuilder::grid(Value rows, int64_t mostColumns) {
  Value one = i64(1);
  Value rowParts = max(one, min(threads(), div(rows, i64(kRowsPerThread))));
  Value columns = min(i64(mostColumns), div(threads(), rowParts));
  rowParts = max(one, min(rows, div(threads(), columns)));
  Value row = div(thread(), columns), column = rem(thread(), columns);
  Value part = min(row, rowParts), next = min(add(row, 1), rowParts);
  return {div(mul(rows, part), rowParts), div(mul(rows, next), rowParts), column, columns};
}

void KernelBuilder::waitForOthers() {
  ifThen(less(i64(1), threads()), [&] {
    Value barrier = field(0, offsetof(xf_abi_context, barrier), ptrType());
    auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(getContext()), {ptrType()});
    create<LLVM::CallOp>(type, ValueRange{barrier, context()});
  });
}

} // namespace xf::cpu
