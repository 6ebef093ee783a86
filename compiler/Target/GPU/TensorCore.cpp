#include "compiler/Target/GPU/TensorCore.h"

using namespace mlir;

namespace xf::gpu {

static Value call(GpuBuilder &b, StringRef intrinsic, Type result, ValueRange operands) {
  return b.create<LLVM::CallIntrinsicOp>(result, b.getStringAttr(intrinsic), operands).getResults();
}
static void call(GpuBuilder &b, StringRef intrinsic, ValueRange operands) { b.create<LLVM::CallIntrinsicOp>(b.getStringAttr(intrinsic), operands); }

static SmallVector<Value> members(GpuBuilder &b, Value structure, int64_t count) {
  SmallVector<Value> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(b.create<LLVM::ExtractValueOp>(structure, ArrayRef<int64_t>{i}));
  return values;
}

static Type structure(GpuBuilder &b, Type element) { return LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(4, element)); }

SmallVector<Value> multiplyTiles(GpuBuilder &b, Type factor, ArrayRef<Value> a, ArrayRef<Value> x, ArrayRef<Value> sums) {
  // LLVM has pairs of bf16 as words, and pairs of f16 as vectors.
  SmallVector<Value> operands;
  for (Value word : llvm::concat<const Value>(a, x))
    operands.push_back(factor.isBF16() ? word : b.create<LLVM::BitcastOp>(VectorType::get({2}, factor), word).getResult());
  llvm::append_range(operands, sums);
  StringRef name = factor.isBF16() ? "llvm.nvvm.mma.m16n8k16.row.col.bf16" : "llvm.nvvm.mma.m16n8k16.row.col.f32.f32";
  return members(b, call(b, name, structure(b, b.getF32Type()), operands), 4);
}

Value joinPair(GpuBuilder &b, Value low, Value high) {
  Type word = b.getI32Type();
  Value upper = b.create<arith::ShLIOp>(b.create<arith::ExtUIOp>(word, high), b.i32(16));
  return b.create<arith::OrIOp>(b.create<arith::ExtUIOp>(word, low), upper);
}

Value narrowPair(GpuBuilder &b, Type type, Value low, Value high) {
  StringRef name = type.isBF16() ? "llvm.nvvm.ff2bf16x2.rn" : "llvm.nvvm.ff2f16x2.rn";
  return b.create<LLVM::BitcastOp>(b.getI32Type(), call(b, name, VectorType::get({2}, type), {high, low}));
}

Value zeroUnless(GpuBuilder &b, Value condition, Value value) {
  return b.create<arith::SelectOp>(condition, value, b.create<arith::ConstantOp>(b.getZeroAttr(value.getType())));
}

SmallVector<Value> loadMatrices(GpuBuilder &b, Value address) {
  return members(b, call(b, "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3", structure(b, b.getI32Type()), address), 4);
}

void copyAsync(GpuBuilder &b, Value to, Value from, Value bytes) {
  if (bytes)
    call(b, "llvm.nvvm.cp.async.cg.shared.global.16.s", {to, from, bytes});
  else
    call(b, "llvm.nvvm.cp.async.cg.shared.global.16", {to, from});
}

void copyAsyncIf(GpuBuilder &b, Value condition, Value to, Value from) {
  copyAsync(b, to, from, condition ? b.create<arith::SelectOp>(condition, b.i32(16), b.i32(0)) : Value());
}

void commitCopies(GpuBuilder &b) { call(b, "llvm.nvvm.cp.async.commit.group", {}); }

void awaitCopies(GpuBuilder &b, int64_t open) {
  call(b, "llvm.nvvm.cp.async.wait.group", b.create<LLVM::ConstantOp>(b.getI32Type(), open).getResult());
}

} // namespace xf::gpu
