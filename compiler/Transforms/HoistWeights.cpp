// What depends on parameters only is named, so that it can be computed and packed when compiling.
//
// A contract reads its weight in panels. Everything else is plain; a bare f32 parameter needs no name of its own. When a
// contract and a look-up share a matrix (tied embeddings) the look-up reads the panels, so that it is stored once. A
// quantised matrix is two weights, its elements and its scales, of which the first names the second.
#include "compiler/Transforms/MapUtils.h"
#include "compiler/Transforms/Passes.h"
#include "dialect/IR/Producers.h"

#include "llvm/ADT/StringMap.h"

namespace xf {
#define GEN_PASS_DEF_XFHOISTWEIGHTS
#include "compiler/Transforms/Passes.h.inc"
} // namespace xf

using namespace mlir;
using namespace mlir::xf;

namespace {

/// The stacks whose layer indices `value` depends on, to choose parameters or to compute with, the outermost first.
void findStacks(Value value, SmallVectorImpl<RepeatOp> &stacks) {
  holdsForAll(value, [&](Value part, llvm::SetVector<Value> &next) {
    if (Operation *op = part.getDefiningOp())
      next.insert_range(valuesRead(op));
    else if (auto repeat = dyn_cast<RepeatOp>(part.getParentBlock()->getParentOp()); repeat && !llvm::is_contained(stacks, repeat))
      stacks.push_back(repeat);
    return true;
  });
  llvm::sort(stacks, [](RepeatOp a, RepeatOp b) { return a != b && a->isProperAncestor(b); });
}

/// How many layers the stacks have in all.
int64_t countLayers(ArrayRef<RepeatOp> stacks) {
  int64_t count = 1;
  for (RepeatOp repeat : stacks)
    count *= repeat.getCount();
  return count;
}

Value indexConstant(OpBuilder &builder, Location loc, int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }

/// The flat index of the current layer over all nested stacks; the innermost stack's runs fastest.
Value linearizeLayer(OpBuilder &builder, Location loc, ArrayRef<RepeatOp> stacks) {
  Value index;
  for (RepeatOp repeat : stacks) {
    if (index)
      index = arith::MulIOp::create(builder, loc, index, indexConstant(builder, loc, repeat.getCount()));
    index = index ? arith::AddIOp::create(builder, loc, index, repeat.getLayer()).getResult() : Value(repeat.getLayer());
  }
  return index;
}

/// The inverse: each stack's own layer from that index.
void delinearizeLayer(OpBuilder &builder, Location loc, Value index, ArrayRef<RepeatOp> stacks, IRMapping &mapping) {
  for (RepeatOp repeat : llvm::reverse(stacks)) {
    if (repeat == stacks.front()) {
      mapping.map(repeat.getLayer(), index);
      return;
    }
    Value count = indexConstant(builder, loc, repeat.getCount());
    mapping.map(repeat.getLayer(), arith::RemUIOp::create(builder, loc, index, count).getResult());
    index = arith::DivUIOp::create(builder, loc, index, count);
  }
}

StringRef firstParameter(Value value) {
  while (auto *op = value.getDefiningOp()) {
    if (auto param = dyn_cast<ParamOp>(op))
      return param.getName();
    value = op->getOperand(0);
  }
  return "constant";
}

class Hoister {
public:
  explicit Hoister(ModuleOp module) : module(module), symbols(module) {}

  LogicalResult run() {
    SmallVector<ContractOp> contracts;
    module.walk([&](ContractOp op) { contracts.push_back(op); });
    for (ContractOp op : contracts)
      if (failed(hoist(op, op.getWeightMutable(), Layout::panels)))
        return failure();
    // Only now, when all panels are known, the plain readers.
    SmallVector<std::pair<Operation *, OpOperand *>> uses;
    module.walk([&](EntryOp entry) {
      entry.walk([&](Operation *op) {
        for (OpOperand &operand : op->getOpOperands())
          if (!isExpression(op) && dependsOnParametersOnly(operand.get()))
            uses.push_back({op, &operand});
      });
    });
    for (auto [op, operand] : uses)
      if (failed(hoistPlain(op, *operand)))
        return failure();
    return success();
  }

private:
  /// Whether `op` is itself part of an expression of parameters.
  bool isExpression(Operation *op) {
    return op->getNumResults() > 0 && isa<RankedTensorType>(op->getResult(0).getType()) && dependsOnParametersOnly(op->getResult(0));
  }

  LogicalResult hoistPlain(Operation *op, OpOperand &operand) {
    bool isTable = isa<EmbedOp>(op) && operand.getOperandNumber() == 0;
    auto param = operand.get().getDefiningOp<ParamOp>();
    if (param && isa<WeightOp>(symbols.lookup(param.getName())))
      return success();
    if (isTable && isShared(operand.get()))
      return hoist(op, operand, Layout::panels);
    return param ? success() : hoist(op, operand, Layout::plain);
  }

  /// Whether a contract reads the same matrix, one for all layers, in panels.
  bool isShared(Value table) {
    SmallVector<RepeatOp> stacks;
    findStacks(table, stacks);
    if (!stacks.empty())
      return false;
    WeightOp candidate = build(table, stacks, Layout::panels);
    bool isKnown = weights.contains(print(candidate));
    candidate->erase();
    return isKnown;
  }

  LogicalResult hoist(Operation *op, OpOperand &operand, Layout layout) {
    Value value = operand.get();
    if (!dependsOnParametersOnly(value))
      return op->emitError("a linear's weight and bias must depend on parameters only");
    SmallVector<RepeatOp> stacks;
    findStacks(value, stacks);
    WeightOp weight = name(value, stacks, layout);
    auto quantize = value.getDefiningOp<QuantizeOp>();
    if (quantize && quantize->getNumResults() > 1 && value == quantize->getResult(0))
      weight.setScalesAttr(FlatSymbolRefAttr::get(name(quantize->getResult(1), stacks, Layout::plain)));
    OpBuilder builder(outsideOfKernels(op));
    auto ref = ParamOp::create(builder, value.getLoc(), value.getType(), weight.getSymName(),
                               weight.getLayers() > 1 ? ValueRange(linearizeLayer(builder, value.getLoc(), stacks)) : ValueRange());
    operand.set(ref);
    return success();
  }

  /// The weight that computes `value`, named at its first use.
  WeightOp name(Value value, ArrayRef<RepeatOp> stacks, Layout layout) {
    WeightOp weight = build(value, stacks, layout);
    WeightOp &existing = weights[print(weight)];
    if (existing) {
      weight->erase();
    } else {
      weight.setSymName(("w." + firstParameter(value)).str());
      symbols.insert(weight, entryPoint()); // makes the name unique
      existing = weight;
    }
    return existing;
  }

  /// A weight that is not in the module yet.
  WeightOp build(Value value, ArrayRef<RepeatOp> stacks, Layout layout) {
    OpBuilder builder(module.getContext());
    auto weight = WeightOp::create(builder, value.getLoc(), StringRef(), value.getType(), countLayers(stacks), layout,
                                   /*scales=*/FlatSymbolRefAttr());
    Block &body = weight.getBody().emplaceBlock();
    body.addArgument(builder.getIndexType(), value.getLoc());
    builder.setInsertionPointToStart(&body);
    IRMapping mapping;
    delinearizeLayer(builder, value.getLoc(), body.getArgument(0), stacks, mapping);
    YieldOp::create(builder, value.getLoc(), ::xf::cloneParameterExpression(builder, value, mapping));
    return weight;
  }

  /// Weights stand before the first entry.
  Block::iterator entryPoint() {
    for (Operation &op : *module.getBody())
      if (isa<EntryOp>(op))
        return op.getIterator();
    return module.getBody()->end();
  }

  /// A captured value must be defined outside the op that captures it.
  Operation *outsideOfKernels(Operation *op) {
    while (!isa<EntryOp, RepeatOp>(op->getParentOp()))
      op = op->getParentOp();
    return op;
  }

  std::string print(WeightOp weight) {
    std::string text;
    llvm::raw_string_ostream os(text);
    weight->print(os, OpPrintingFlags().useLocalScope());
    return text;
  }

  ModuleOp module;
  SymbolTable symbols;
  llvm::StringMap<WeightOp> weights;
};

struct HoistWeights : ::xf::impl::XfHoistWeightsBase<HoistWeights> {
  void runOnOperation() override {
    if (failed(Hoister(getOperation()).run()))
      signalPassFailure();
  }
};

} // namespace
