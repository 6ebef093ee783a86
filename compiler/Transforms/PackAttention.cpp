// Keys and values reach attention in the packed order that its micro-kernels read.
#include "compiler/Transforms/Passes.h"

#include "llvm/ADT/StringMap.h"

namespace xf {
#define GEN_PASS_DEF_XFPACKATTENTION
#include "compiler/Transforms/Passes.h.inc"
} // namespace xf

using namespace mlir;
using namespace mlir::xf;

namespace {

/// The ops that access each state.
using Accesses = llvm::StringMap<SmallVector<Operation *>>;

/// Whether attention reads everything that comes out of a state in the role of `operand`, so that it can be kept packed.
bool onlyRead(ArrayRef<Operation *> accesses, OpOperand &operand) {
  return llvm::all_of(accesses, [&](Operation *access) {
    return llvm::all_of(access->getUses(),
                        [&](OpOperand &use) { return isa<AttendOp>(use.getOwner()) && use.getOperandNumber() == operand.getOperandNumber(); });
  });
}

struct PackAttention : ::xf::impl::XfPackAttentionBase<PackAttention> {
  void runOnOperation() override {
    Accesses accesses;
    getOperation()->walk([&](StateAccess access) { accesses[access.getStateName()].push_back(access); });
    getOperation()->walk([&](AttendOp attend) {
      pack(attend, attend.getKMutable(), Layout::keys, accesses);
      pack(attend, attend.getVMutable(), Layout::values, accesses);
    });
  }

  void pack(AttendOp attend, OpOperand &operand, Layout layout, const Accesses &accesses) {
    if (auto access = operand.get().getDefiningOp<StateAccess>(); access && onlyRead(accesses.lookup(access.getStateName()), operand)) {
      getOperation().lookupSymbol<StateOp>(access.getStateName()).setLayout(layout);
      return;
    }
    if (auto pack = operand.get().getDefiningOp<PackOp>(); pack && pack.getLayout() == layout)
      return;
    OpBuilder builder(attend);
    operand.set(PackOp::create(builder, attend.getLoc(), operand.get().getType(), layout, operand.get()));
  }
};

} // namespace
