#include "compiler/Target/GPU/ByteWeights.h"

using namespace mlir;

namespace xf::gpu {

/// Each byte, made unsigned, becomes the lowest byte of the f32 2^23: two instructions, where conversions are slow.
SmallVector<Value> widenBytes(GpuBuilder &b, Value word) {
  constexpr int64_t kExponent = 0x4b000000; // of 2^23
  Type i32 = b.getI32Type();
  Value shifted = b.create<arith::XOrIOp>(word, b.i32(0x80808080));
  SmallVector<Value> widened;
  for (int64_t i = 0; i < kWordDepth; ++i) {
    // The bytes of the result, highest first: 7, 5 and 4 of the exponent's word, i of the other.
    Value operands[] = {shifted, b.i32(kExponent), b.i32(0x7540 + i)};
    Value bits = b.create<LLVM::CallIntrinsicOp>(i32, b.getStringAttr("llvm.nvvm.prmt"), operands).getResults();
    Value value = b.create<arith::BitcastOp>(b.getF32Type(), bits);
    widened.push_back(b.create<arith::SubFOp>(value, b.f32(0x1p23 + 128)));
  }
  return widened;
}

} // namespace xf::gpu
