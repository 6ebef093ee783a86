// Copies where a view cannot be read in place.
#include "compiler/Transforms/Layouts.h"
#include "compiler/Transforms/Passes.h"

namespace xf {
#define GEN_PASS_DEF_XFMATERIALIZEVIEWS
#include "compiler/Transforms/Passes.h.inc"
} // namespace xf

using namespace mlir;
using namespace mlir::xf;

namespace {

class Materializer {
public:
  explicit Materializer(ModuleOp module) : module(module) {}

  void run() {
    SmallVector<Operation *> ops;
    module.walk([&](EntryOp entry) { entry.walk([&](Operation *op) { ops.push_back(op); }); });
    for (Operation *op : ops)
      if (auto load = dyn_cast<LoadOp>(op))
        visitLoad(load);
    // Views first: what follows reads them.
    for (Operation *op : ops)
      if (auto rearrange = dyn_cast<RearrangeOp>(op))
        splitMerge(rearrange);
    for (Operation *op : ops)
      visit(op);
  }

private:
  Value copy(OpBuilder &builder, Value value) { return PackOp::create(builder, value.getLoc(), value.getType(), Layout::plain, value); }
  void copyOperand(OpOperand &operand) {
    OpBuilder builder(operand.getOwner());
    operand.set(copy(builder, operand.get()));
  }

  /// Only some kernels look up the slots of a load that they read; all other readers, views among them, get a copy.
  void visitLoad(LoadOp load) {
    for (OpOperand &use : llvm::make_early_inc_range(load.getResult().getUses()))
      if (!isa<AtOp, AttendOp, ConcatOp, PackOp, RowOp>(use.getOwner()))
        copyOperand(use);
  }

  /// A rearrange whose merge is no view becomes: split and permute (a view), copy, merge (a view of the copy).
  void splitMerge(RearrangeOp op) {
    if (op->getParentOfType<WeightOp>() || ::xf::viewOf(op.getResult(), module))
      return;
    OpBuilder builder(op);
    auto emit = [&] { return op.emitError(); };
    Value x = op.getX();
    if (auto in = ::xf::viewOf(x, module); !in || in->packing != Layout::plain)
      x = copy(builder, x);
    auto pattern = *Rearrangement::parse(op.getPattern(), emit);
    std::string left = op.getPattern().split("->").first.str(), flat, right = op.getPattern().split("->").second.str();
    for (auto &group : pattern.out)
      for (unsigned axis : group)
        flat += pattern.axes[axis] + " ";
    auto permutation = *Rearrangement::parse(left + "-> " + flat, emit);
    auto permuted = RearrangeOp::create(builder, op.getLoc(), *permutation.apply(typeOf(x), op.getSizes(), emit), x,
                                        builder.getStringAttr(left + "-> " + flat), op.getSizes());
    auto merged = RearrangeOp::create(builder, op.getLoc(), op.getResult().getType(), copy(builder, permuted),
                                      builder.getStringAttr(flat + "->" + right), op.getSizes());
    op.replaceAllUsesWith(merged.getResult());
    op->erase();
  }

  void visitYielded(Operation *terminator) {
    llvm::SmallPtrSet<Value, 4> seen;
    for (OpOperand &operand : terminator->getOpOperands())
      if (!::xf::isOwnBuffer(operand.get(), terminator->getBlock(), module) || !seen.insert(operand.get()).second) {
        copyOperand(operand);
        seen.insert(operand.get());
      }
  }

  void visit(Operation *op) {
    if (auto contract = dyn_cast<ContractOp>(op)) {
      if (!::xf::hasRowStride(contract.getX(), module))
        copyOperand(contract.getXMutable());
      for (OpOperand &extra : contract.getExtrasMutable())
        if (typeOf(extra.get()).getRank() > 1 && !::xf::hasRowStride(extra.get(), module))
          copyOperand(extra);
    } else if (auto attend = dyn_cast<AttendOp>(op)) {
      auto view = ::xf::viewOf(attend.getQ(), module);
      if (!view || view->packing != Layout::plain || !(view->strides.back() == ::xf::Monomial{1, {}}))
        copyOperand(attend.getQMutable());
    } else if (auto repeat = dyn_cast<RepeatOp>(op)) {
      for (OpOperand &init : repeat.getInitsMutable())
        if (!::xf::canBeCarried(init.get(), op->getBlock(), module))
          copyOperand(init);
      visitYielded(repeat.getBody().front().getTerminator());
    } else if (isa<ReturnOp>(op)) {
      visitYielded(op);
    }
  }

  ModuleOp module;
};

struct MaterializeViews : ::xf::impl::XfMaterializeViewsBase<MaterializeViews> {
  void runOnOperation() override { Materializer(getOperation()).run(); }
};

} // namespace
