// Sentences of different lengths, each stored without padding.
//
// Where every integer that begin stores for a source position has a known value at padding, and everything else that it
// stores there is only read by attention whose mask hides padding, a sentence can be encoded and stored at its own length,
// whatever the lengths of the sentences that it is decoded with. The stores then say what to leave behind a sentence's
// last position, and `xf.generate` says that the source may be ragged.
#include "compiler/Transforms/Passes.h"
#include "dialect/IR/ModuleRoles.h"
#include "dialect/IR/Producers.h"

#include "mlir/IR/Matchers.h"

namespace xf {
#define GEN_PASS_DEF_XFRAGGEDSOURCE
#include "compiler/Transforms/Passes.h.inc"
} // namespace xf

using namespace mlir;
using namespace mlir::xf;

namespace {

/// The value of a constant, which may stand outside of a body; null for anything else.
Attribute constantOf(Value value) {
  Attribute constant;
  return matchPattern(value, m_Constant(&constant)) ? constant : Attribute();
}

/// What a body gives for these arguments; null if that is not a constant.
Attribute evaluate(Block &body, ArrayRef<Attribute> arguments, Value result) {
  llvm::DenseMap<Value, Attribute> elements;
  for (auto [argument, value] : llvm::zip(body.getArguments(), arguments))
    elements[argument] = value;
  for (Operation &op : body.without_terminator()) {
    SmallVector<Attribute> operands;
    for (Value operand : op.getOperands())
      operands.push_back(elements.contains(operand) ? elements.lookup(operand) : constantOf(operand));
    SmallVector<OpFoldResult> folded;
    if (op.getNumResults() != 1 || failed(op.fold(operands, folded)) || folded.size() != 1)
      return {};
    auto value = dyn_cast<Attribute>(folded.front());
    elements[op.getResult(0)] = value ? value : elements.lookup(cast<Value>(folded.front()));
  }
  return elements.contains(result) ? elements.lookup(result) : constantOf(result);
}

class RaggedSourceFinder {
public:
  RaggedSourceFinder(ModuleOp module, const ModuleRoles &generate)
      : module(module), begin(generate.entry("begin")), step(generate.entry("step")), pad(generate.integer("pad")), source(generate.name("source")) {}

  bool run() {
    if (!begin || !step || source.empty() || !pad)
      return false;
    bool possible = true;
    begin.walk([&](StoreOp store) { possible &= visit(store); });
    step.walk([&](LoadOp load) { possible &= visit(load); });
    if (!possible)
      return false;
    for (auto &[store, padding] : stores)
      store.setPaddingAttr(padding);
    return true;
  }

private:
  bool followsSource(Type type) { return llvm::is_contained(getDimNames(cast<RankedTensorType>(type)), source); }

  /// Notes the padding of a store; false if it has none and needs it.
  bool visit(StoreOp store) {
    auto type = cast<RankedTensorType>(store.getX().getType());
    if (!followsSource(type) || isa<FloatType>(type.getElementType()))
      return true;
    auto padding = dyn_cast_or_null<TypedAttr>(paddingOf(store.getX()));
    if (!padding || type.getRank() != 2)
      return false;
    stores.push_back({store, padding});
    paddings[store.getName()] = padding;
    return true;
  }

  /// The element of `value` where the tokens are padding; null if that depends on anything else.
  Attribute paddingOf(Value value) {
    return memoized(value, [&] { return findPaddingOf(value); });
  }

  Attribute findPaddingOf(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      bool isTokens = isa<EntryOp>(argument.getOwner()->getParentOp()) && followsSource(argument.getType()) &&
                      cast<RankedTensorType>(argument.getType()).getElementType().isInteger(32);
      return isTokens ? IntegerAttr::get(IntegerType::get(module.getContext(), 32), *pad) : Attribute();
    }
    if (auto rearrange = value.getDefiningOp<RearrangeOp>())
      return paddingOf(rearrange.getX());
    auto map = value.getDefiningOp<MapOp>();
    if (!map)
      return {};
    SmallVector<Attribute> inputs;
    for (Value input : map.getInputs())
      inputs.push_back(paddingOf(input));
    Block &body = map.getBody().front();
    return evaluate(body, inputs, body.getTerminator()->getOperand(cast<OpResult>(value).getResultNumber()));
  }

  /// Whether what is loaded is only read where padding is hidden.
  bool visit(LoadOp load) {
    auto type = cast<RankedTensorType>(load.getResult().getType());
    if (!followsSource(type) || !isa<FloatType>(type.getElementType()))
      return true;
    return llvm::all_of(load.getResult().getUses(), [&](OpOperand &use) {
      auto attend = dyn_cast<AttendOp>(use.getOwner());
      return attend && use.getOperandNumber() > 0 && hidesPadding(attend);
    });
  }

  bool hidesPadding(AttendOp attend) {
    if (attend.getMask().empty() || attend.isFillAScore())
      return false;
    Block &mask = attend.getMask().front();
    // One condition of the conjunction has to be false where key j is padding.
    return !holdsForAll(mask.getTerminator()->getOperand(0), [&](Value condition, llvm::SetVector<Value> &next) {
      if (auto both = condition.getDefiningOp<arith::AndIOp>()) {
        next.insert(both->operand_begin(), both->operand_end());
        return true;
      }
      auto value = dyn_cast_or_null<IntegerAttr>(atPadding(condition, mask));
      return !value || !value.getValue().isZero();
    });
  }

  /// What a mask's value is where key j is padding; null if that depends on anything else.
  Attribute atPadding(Value term, Block &mask) {
    return memoized(term, [&] { return findAtPadding(term, mask); });
  }

  Attribute findAtPadding(Value term, Block &mask) {
    Operation *op = term.getDefiningOp();
    if (!op || op->getBlock() != &mask)
      return constantOf(term);
    if (auto at = dyn_cast<AtOp>(op)) {
      auto load = at.getTensor().getDefiningOp<LoadOp>();
      bool isKey = load && at.getIndices().size() == 2 && at.getIndices()[0] == mask.getArgument(0) && at.getIndices()[1] == mask.getArgument(3);
      return isKey ? paddings.lookup(load.getName()) : Attribute();
    }
    SmallVector<Attribute> operands;
    for (Value operand : op->getOperands())
      operands.push_back(atPadding(operand, mask));
    SmallVector<OpFoldResult> folded;
    if (failed(op->fold(operands, folded)) || folded.size() != 1)
      return {};
    return dyn_cast<Attribute>(folded.front());
  }

  /// Memoises `find` for a value, which several others may depend on.
  Attribute memoized(Value value, llvm::function_ref<Attribute()> find) {
    if (auto known = elementsAtPadding.find(value); known != elementsAtPadding.end())
      return known->second;
    Attribute element = find();
    return elementsAtPadding[value] = element;
  }

  ModuleOp module;
  EntryOp begin, step;
  std::optional<int64_t> pad;
  StringRef source;
  SmallVector<std::pair<StoreOp, TypedAttr>> stores;
  llvm::StringMap<Attribute> paddings; // by state
  llvm::DenseMap<Value, Attribute> elementsAtPadding;
};

struct RaggedSource : ::xf::impl::XfRaggedSourceBase<RaggedSource> {
  void runOnOperation() override {
    ModuleRoles generate(getOperation(), kGenerateAttr);
    if (RaggedSourceFinder(getOperation(), generate).run())
      generate.set("ragged_source", UnitAttr::get(&getContext()));
  }
};

} // namespace
