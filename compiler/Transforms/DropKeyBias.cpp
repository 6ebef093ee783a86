// Keys without their bias.
//
// A bias c of the keys adds q·c to all scores of a query alike, and a softmax does not see it: training leaves such a bias
// wherever it happens to drift. In f32 it does no harm. Rounded to bf16 a key keeps 8 bits of all of it, so that a large bias
// takes the bits of what tells keys apart.
//
// That holds where a masked score stays masked whatever the others are, and where the keys that attention reads are a linear's
// result as it is: behind a rotation by positions the bias differs from key to key. A function of the score may see it.
#include "compiler/Transforms/MapUtils.h"
#include "compiler/Transforms/Passes.h"

namespace xf {
#define GEN_PASS_DEF_XFDROPKEYBIAS
#include "compiler/Transforms/Passes.h.inc"
} // namespace xf

using namespace mlir;
using namespace mlir::xf;

namespace {

class KeyBiases {
public:
  explicit KeyBiases(ModuleOp module) : module(module) {}

  void drop() {
    module.walk([&](AttendOp attend) {
      if (seesDifferencesOnly(attend))
        if (LinearOp linear = linearOf(attend.getKMutable()))
          clear(linear);
    });
    for (StateOp state : module.getOps<StateOp>())
      drop(state);
  }

private:
  /// Whether what is added to all scores of a query changes nothing.
  static bool seesDifferencesOnly(AttendOp attend) { return !attend.isFillAScore() && attend.getScore().empty(); }

  /// The linear with a bias that gives the keys in `use` and nothing else, or null.
  static LinearOp linearOf(OpOperand &use) {
    Value value = use.get();
    auto keys = cast<RankedTensorType>(value.getType());
    while (auto view = value.getDefiningOp<RearrangeOp>()) {
      if (!value.hasOneUse())
        return {};
      value = view.getX();
    }
    auto linear = value.getDefiningOp<LinearOp>();
    if (!linear || !value.hasOneUse() || !linear.getBias() || !::xf::dependsOnParametersOnly(linear.getBias()))
      return {};
    // A bias has no dynamic dimension: it is the same for all positions.
    return keys.isDynamicDim(2) ? linear : LinearOp();
  }

  static void clear(LinearOp linear) {
    OpBuilder builder(linear);
    Value bias = linear.getBias();
    ::xf::MapBuilder zeros{builder, bias.getLoc()};
    zeros.add(bias, ::xf::identityMap(1));
    MapOp map = zeros.create({bias.getType()}, [&](OpBuilder &b, ValueRange) {
      return SmallVector<Value>{arith::ConstantOp::create(b, bias.getLoc(), b.getF32FloatAttr(0))};
    });
    linear.getBiasMutable().assign(map->getResult(0));
  }

  /// Keys in a state: what is written, if only attention reads them.
  void drop(StateOp state) {
    SmallVector<LinearOp> linears;
    bool isPossible = true, isRead = false;
    auto uses = SymbolTable::getSymbolUses(state, module);
    if (!uses)
      return;
    for (const SymbolTable::SymbolUse &use : *uses) {
      Operation *op = use.getUser();
      if (!isa<AppendOp, StoreOp, LoadOp>(op))
        return;
      if (!isa<LoadOp>(op)) {
        linears.push_back(linearOf(op->getOpOperand(0)));
        isPossible &= linears.back() != LinearOp();
      }
      for (Value result : op->getResults())
        for (OpOperand &read : result.getUses()) {
          auto attend = dyn_cast<AttendOp>(read.getOwner());
          isPossible &= attend && &read == &attend.getKMutable() && seesDifferencesOnly(attend);
          isRead = true;
        }
    }
    if (isPossible && isRead)
      llvm::for_each(linears, clear);
  }

  ModuleOp module;
};

struct DropKeyBias : ::xf::impl::XfDropKeyBiasBase<DropKeyBias> {
  void runOnOperation() override { KeyBiases(getOperation()).drop(); }
};

} // namespace
