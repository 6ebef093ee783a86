#include "compiler/Conversion/XfToLLVM/WeightPointers.h"

#include "compiler/Conversion/XfToLLVM/MemoryPlan.h"
#include "compiler/Target/CPU/BlockProduct.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf {

/// Servers' cores share 16 to 64 MB.
static constexpr int64_t kLastLevelCacheBytes = 32 << 20;

/// The weights that a product reads, or a choice among its results, which with a screen reads mostly that.
static Value readWeight(Operation *op) {
  if (auto contract = dyn_cast<ContractOp>(op))
    return contract.getWeight();
  auto choose = dyn_cast<ChooseOp>(op);
  return !choose ? Value() : choose.getScreen().empty() ? choose.getWeight() : choose.getScreen().front();
}

bool weightsStream(EntryOp entry) {
  int64_t bytes = 0;
  entry.walk([&](Operation *op) {
    Value weight = readWeight(op);
    if (!weight)
      return;
    auto type = cast<RankedTensorType>(weight.getType());
    int64_t weightBytes = type.getNumElements() * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
    for (auto stack = op->getParentOfType<RepeatOp>(); stack; stack = stack->getParentOfType<RepeatOp>())
      weightBytes *= stack.getCount();
    bytes += weightBytes;
  });
  return bytes > kLastLevelCacheBytes;
}

void WeightPointers::loadBase() { base = plan.contextField(offsetof(xf_abi_context, weights)); }

Value WeightPointers::indexValue(Value index) {
  DenseMap<Value, Value> computed; // where the code is now
  auto find = [&](auto &&self, Value value) -> Value {
    Operation *op = value.getDefiningOp();
    if (!op)
      return layers.lookup(value);
    if (auto constant = dyn_cast<arith::ConstantIndexOp>(op))
      return plan.constant(constant.value());
    if (Value known = computed.lookup(value))
      return known;
    // The flat index of a layer in nested stacks.
    Value a = self(self, op->getOperand(0)), b = self(self, op->getOperand(1));
    return computed[value] = isa<arith::AddIOp>(op) ? plan.add(a, b) : plan.mul(a, b);
  };
  return find(find, index);
}

Value WeightPointers::pointer(ParamOp param) {
  Operation *symbol = root.lookupSymbol(param.getNameAttr());
  auto parameter = dyn_cast<ParameterOp>(symbol);
  const Placement &placement = plan.layout.weights.find(symbol)->second;
  Value flatIndex;
  for (auto [i, index] : llvm::enumerate(param.getIndices())) {
    Value one = indexValue(index);
    flatIndex = flatIndex ? plan.add(plan.mul(flatIndex, plan.constant(parameter.getCounts()[i])), one) : one;
  }
  Value first = plan.advance(base, placement.offset);
  return flatIndex ? plan.advance(first, plan.mul(flatIndex, plan.constant(placement.stride))) : first;
}

std::optional<WeightPointers::Panels> WeightPointers::panelsOf(Type rowType, Value weight) {
  auto param = weight.getDefiningOp<ParamOp>();
  if (!param)
    return std::nullopt;
  cpu::WeightPanels panels(rowType, cast<RankedTensorType>(weight.getType()));
  return Panels{pointer(param), plan.constant(panels.panels), plan.constant(panels.panelElements * elementBytes(panels.type))};
}

std::optional<WeightPointers::Panels> WeightPointers::firstPanels(iterator_range<Block::iterator> ops) {
  auto elementOf = [](Value x) { return cast<RankedTensorType>(x.getType()).getElementType(); };
  for (Operation &op : ops) {
    if (auto contract = dyn_cast<ContractOp>(op))
      return panelsOf(elementOf(contract.getX()), contract.getWeight());
    if (auto choose = dyn_cast<ChooseOp>(op))
      return choose.getScreen().empty() ? panelsOf(elementOf(choose.getX()), choose.getWeight())
                                        : panelsOf(plan.builder.getI8Type(), choose.getScreen().front());
    if (auto stack = dyn_cast<RepeatOp>(op))
      if (auto panels = firstPanels(stack, plan.constant(0)))
        return panels;
  }
  return std::nullopt;
}

std::optional<WeightPointers::Panels> WeightPointers::firstPanels(RepeatOp stack, Value layer) {
  Value before = layers.lookup(stack.getLayer());
  setLayer(stack, layer);
  auto panels = firstPanels(stack.getBody().front().without_terminator());
  setLayer(stack, before);
  return panels;
}

std::optional<WeightPointers::Panels> WeightPointers::nextPanels(Operation *op) {
  if (auto panels = firstPanels(llvm::make_range(std::next(op->getIterator()), op->getBlock()->end())))
    return panels;
  auto stack = dyn_cast<RepeatOp>(op->getParentOp());
  if (!stack)
    return std::nullopt;
  Value next = plan.add(layers.lookup(stack.getLayer()), plan.constant(1));
  auto inside = firstPanels(stack, next), after = nextPanels(stack);
  if (!inside)
    return after;
  Value isLast = LLVM::ICmpOp::create(plan.builder, plan.loc, LLVM::ICmpPredicate::eq, next, plan.constant(stack.getCount()));
  if (!after)
    after = Panels{inside->first, plan.constant(0), inside->bytes};
  auto select = [&](Value there, Value here) { return LLVM::SelectOp::create(plan.builder, plan.loc, isLast, there, here); };
  return Panels{select(after->first, inside->first), select(after->count, inside->count), select(after->bytes, inside->bytes)};
}

} // namespace xf
