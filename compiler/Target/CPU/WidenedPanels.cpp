#include "compiler/Target/CPU/WidenedPanels.h"

#include "compiler/Target/CPU/FactorArithmetic.h"
#include "compiler/Target/CPU/SharedFunction.h"

using namespace mlir;

namespace xf::cpu {

static LLVM::LLVMFuncOp getWidenFunction(ModuleOp module, Isa isa) {
  std::string name = ("xf.widen." + isaName(isa)).str();
  Type address = LLVM::LLVMPointerType::get(module.getContext()), integer = IntegerType::get(module.getContext(), 64);
  return getSharedFunction(module, name, {address, integer, address}, isa, [](CodeBuilder &b) {
    FactorArithmetic pairs(b, Factor::bf16, /*wideRows=*/true);
    b.loop(b.i64(0), b.argument(1), 1, [&](Value group) {
      Value line = b.mul(group, kLineBytes);
      for (auto [i, half] : llvm::enumerate(pairs.loadPanel(b.at(b.argument(0), line, b.getI8Type()))))
        b.storeVector(half, b.at(b.argument(2), b.add(b.mul(line, 2), i * kLineBytes), b.getI8Type()));
    });
  });
}

void widenPanels(CodeBuilder &b, const PairPanels &panels, Value target, Value targetStride) {
  auto function = getWidenFunction(b.module(), productIsa(b.isa(), Factor::bf16));
  b.loop(b.i64(0), panels.count, 1, [&](Value i) {
    auto at = [&](Value start, Value stride) { return b.at(start, b.mul(i, stride), b.getI8Type()); };
    b.create<LLVM::CallOp>(function, ValueRange{at(panels.start, panels.stride), panels.groups, at(target, targetStride)});
  });
}

} // namespace xf::cpu
