// The loop that runs a scalar program.
#include "compiler/Import/Error.h"
#include "compiler/Reference/Scalar.h"

#include "llvm/ADT/bit.h"

namespace xf {

float roundToBF16(float value) {
  uint32_t bits = llvm::bit_cast<uint32_t>(value);
  if ((bits & 0x7f800000) != 0x7f800000)
    bits += 0x7fff + (bits >> 16 & 1); // to nearest, ties to even
  else if (bits & 0x7fffff)
    bits |= 0x400000; // still NaN without the low bits
  return llvm::bit_cast<float>(bits & 0xffff0000);
}

float roundToF16(float value) { return static_cast<float>(static_cast<_Float16>(value)); }

ScalarFrame::ScalarFrame(const ScalarProgram &program, Precision precision)
    : program(program), precision(precision), views(program.tensors.size()), floatFile(program.floatRegs * maxLanes),
      intFile(program.intRegs * maxLanes) {
  for (auto [reg, value] : program.floatConstants)
    std::fill_n(floats(reg), maxLanes, value);
  for (auto [reg, value] : program.intConstants)
    std::fill_n(ints(reg), maxLanes, value);
}

void ScalarFrame::bindCapture(unsigned i, int64_t value) { std::fill_n(ints(program.captureRegs[i].index), maxLanes, value); }

llvm::Error ScalarFrame::run(int count) {
  lanes = count;
  outOfBounds = false;
  for (const ScalarInst &inst : program.insts) {
    inst.kernel(*this, inst);
    if (inst.f32 && precision == Precision::F32)
      for (int l = 0; l < lanes; ++l)
        floats(inst.result)[l] = static_cast<float>(floats(inst.result)[l]);
    if (inst.round)
      for (int l = 0; l < lanes; ++l)
        floats(inst.result)[l] = inst.round(static_cast<float>(floats(inst.result)[l]));
  }
  if (outOfBounds)
    return makeError("a region reads outside its tensor");
  return llvm::Error::success();
}

} // namespace xf
