// Keys and values reach attention in the packed order that its micro-kernels read.
#include "compiler/Transforms/Passes.h"

namespace xf {
#define GEN_PASS_DEF_XFPACKATTENTION
#include "compiler/Transforms/Passes.h.inc"
} // namespace xf

using namespace mlir;
using namespace mlir::xf;

namespace {

struct PackAttention : ::xf::impl::XfPackAttentionBase<PackAttention> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    accesses.clear();
    module.walk([&](StateAccess access) { accesses[module.lookupSymbol<StateOp>(access.getStateName())].push_back(access); });
    module.walk([&](AttendOp attend) {
      pack(attend, attend.getKMutable(), Layout::keys);
      pack(attend, attend.getVMutable(), Layout::values);
    });
  }

  void pack(AttendOp attend, OpOperand &operand, Layout layout) {
    auto access = operand.get().getDefiningOp<StateAccess>();
    if (StateOp state = access ? getOperation().lookupSymbol<StateOp>(access.getStateName()) : StateOp(); state && onlyRead(state, operand)) {
      state.setLayout(layout);
      return;
    }
    if (auto pack = operand.get().getDefiningOp<PackOp>(); pack && pack.getLayout() == layout)
      return;
    OpBuilder builder(attend);
    operand.set(PackOp::create(builder, attend.getLoc(), operand.get().getType(), layout, operand.get()));
  }

  /// Whether attention reads everything that comes out of `state` in the role of `operand`, so that it can be kept packed.
  bool onlyRead(StateOp state, OpOperand &operand) {
    return llvm::all_of(accesses[state], [&](Operation *access) {
      return llvm::all_of(access->getUses(), [&](OpOperand &use) {
        return isa<AttendOp>(use.getOwner()) && use.getOperandNumber() == operand.getOperandNumber();
      });
    });
  }

  llvm::DenseMap<StateOp, SmallVector<Operation *>> accesses;
};

} // namespace
