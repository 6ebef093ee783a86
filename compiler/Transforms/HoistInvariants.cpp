// What all layers compute alike is computed before the first one.
#include "compiler/Transforms/Passes.h"
#include "dialect/IR/Producers.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"
#include "mlir/Transforms/RegionUtils.h"

namespace xf {
#define GEN_PASS_DEF_XFHOISTINVARIANTS
#include "compiler/Transforms/Passes.h.inc"
} // namespace xf

using namespace mlir;
using namespace mlir::xf;

namespace {

struct HoistInvariants : ::xf::impl::XfHoistInvariantsBase<HoistInvariants> {
  void runOnOperation() override {
    auto isOutside = [](Value value, Region *body) { return areValuesDefinedAbove(ValueRange(value), *body); };
    auto isProfitable = [](Operation *op, Region *) { return isPure(op) && !llvm::all_of(op->getResults(), dependsOnParametersOnly); };
    auto move = [](Operation *op, Region *body) { op->moveBefore(body->getParentOp()); };
    // Inner loops first.
    getOperation()->walk([&](RepeatOp repeat) { moveLoopInvariantCode(&repeat.getBody(), isOutside, isProfitable, move); });
  }
};

} // namespace
