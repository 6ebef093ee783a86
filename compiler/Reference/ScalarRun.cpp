// The loop that runs a scalar program.
#include "compiler/Import/Error.h"
#include "compiler/Reference/Scalar.h"

namespace xf {

ScalarFrame::ScalarFrame(const ScalarProgram &program, Precision precision)
    : program(program), precision(precision), views(program.tensors.size()), floatFile(program.floatRegs * maxLanes),
      intFile(program.intRegs * maxLanes) {
  for (auto [reg, value] : program.floatConstants)
    std::fill_n(floats(reg), maxLanes, value);
  for (auto [reg, value] : program.intConstants)
    std::fill_n(ints(reg), maxLanes, value);
}

void ScalarFrame::bindCapture(unsigned i, int64_t value) { std::fill_n(ints(program.captureRegs[i].number), maxLanes, value); }

llvm::Error ScalarFrame::run(int count) {
  lanes = count;
  outside = false;
  for (const ScalarInst &inst : program.insts) {
    inst.kernel(*this, inst);
    if (inst.f32 && precision == Precision::F32)
      for (int l = 0; l < lanes; ++l)
        floats(inst.result)[l] = static_cast<float>(floats(inst.result)[l]);
  }
  if (outside)
    return makeError("a region reads outside its tensor");
  return llvm::Error::success();
}

} // namespace xf
