// What all layers compute alike is computed before the first one.
#include "compiler/Transforms/MapUtils.h"
#include "compiler/Transforms/Passes.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

namespace xf {
#define GEN_PASS_DEF_XFHOISTINVARIANTS
#include "compiler/Transforms/Passes.h.inc"
} // namespace xf

using namespace mlir;
using namespace mlir::xf;

namespace {

bool isInvariant(Operation *op, Region &body) {
  if (!isPure(op) || llvm::all_of(op->getResults(), ::xf::dependsOnParametersOnly))
    return false;
  llvm::SetVector<Value> read(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), read);
  return llvm::none_of(read, [&](Value value) { return body.isAncestor(value.getParentRegion()); });
}

struct HoistInvariants : ::xf::impl::XfHoistInvariantsBase<HoistInvariants> {
  void runOnOperation() override {
    // Inner loops first.
    getOperation()->walk([](RepeatOp repeat) {
      for (Operation &op : llvm::make_early_inc_range(repeat.getBody().front().without_terminator()))
        if (isInvariant(&op, repeat.getBody()))
          op.moveBefore(repeat);
    });
  }
};

} // namespace
