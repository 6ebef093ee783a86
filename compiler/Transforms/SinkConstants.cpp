// Constants that a kernel's region reads stand inside it.
//
// Canonicalisation moves them out; a kernel is emitted, and recognised as one that is known, from its op alone.
#include "compiler/Transforms/Passes.h"

#include "mlir/IR/Matchers.h"

namespace xf {
#define GEN_PASS_DEF_XFSINKCONSTANTS
#include "compiler/Transforms/Passes.h.inc"
} // namespace xf

using namespace mlir;
using namespace mlir::xf;

namespace {

void sinkInto(Region &region) {
  region.walk([&](Operation *op) {
    for (OpOperand &operand : op->getOpOperands()) {
      Operation *constant = operand.get().getDefiningOp();
      if (!constant || !matchPattern(constant, m_Constant()) || region.isAncestor(constant->getParentRegion()))
        continue;
      OpBuilder builder(op);
      operand.set(builder.clone(*constant)->getResult(0));
    }
  });
}

struct SinkConstants : ::xf::impl::XfSinkConstantsBase<SinkConstants> {
  void runOnOperation() override {
    getOperation()->walk([](Operation *op) {
      if (isa<ContractOp, ChooseOp, RowOp, AttendOp, ScanOp, ScanStepOp>(op))
        for (Region &region : op->getRegions())
          sinkInto(region);
    });
  }
};

} // namespace
