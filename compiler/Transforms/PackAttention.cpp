// Keys and values reach attention in the packed order that its micro-kernels read.
#include "compiler/Transforms/Passes.h"

namespace xf {
#define GEN_PASS_DEF_XFPACKATTENTION
#include "compiler/Transforms/Passes.h.inc"
} // namespace xf

using namespace mlir;
using namespace mlir::xf;

namespace {

/// The state that `value` is read from, or null.
StateOp stateOf(Value value, SymbolTable &symbols) {
  Operation *op = value.getDefiningOp();
  if (auto append = dyn_cast_or_null<AppendOp>(op))
    return symbols.lookup<StateOp>(append.getName());
  if (auto load = dyn_cast_or_null<LoadOp>(op))
    return symbols.lookup<StateOp>(load.getName());
  return {};
}

/// Whether attention reads everything that comes out of `state` in one role, so that it can be kept packed.
bool onlyRead(StateOp state, Layout layout, ModuleOp module) {
  bool only = true;
  module.walk([&](Operation *op) {
    auto append = dyn_cast<AppendOp>(op);
    auto load = dyn_cast<LoadOp>(op);
    if (!(append && append.getName() == state.getSymName()) && !(load && load.getName() == state.getSymName()))
      return;
    for (OpOperand &use : op->getResult(0).getUses())
      only &= isa<AttendOp>(use.getOwner()) && use.getOperandNumber() == (layout == Layout::keys ? 1u : 2u);
  });
  return only;
}

struct PackAttention : ::xf::impl::XfPackAttentionBase<PackAttention> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    SmallVector<AttendOp> attends;
    getOperation()->walk([&](AttendOp op) { attends.push_back(op); });
    for (AttendOp attend : attends) {
      pack(attend, attend.getKMutable(), Layout::keys, symbols);
      pack(attend, attend.getVMutable(), Layout::values, symbols);
    }
  }

  void pack(AttendOp attend, OpOperand &operand, Layout layout, SymbolTable &symbols) {
    if (StateOp state = stateOf(operand.get(), symbols); state && onlyRead(state, layout, getOperation())) {
      state.setLayout(layout);
      return;
    }
    if (auto pack = operand.get().getDefiningOp<PackOp>(); pack && pack.getLayout() == layout)
      return;
    OpBuilder builder(attend);
    operand.set(PackOp::create(builder, attend.getLoc(), operand.get().getType(), layout, operand.get()));
  }
};

} // namespace
