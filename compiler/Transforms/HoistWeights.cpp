// What depends on parameters only is named, so that it can be computed and packed when compiling.
//
// A contract reads its weight in panels. Everything else is plain; a bare f32 parameter needs no name of its own. When a
// contract and a look-up share a matrix (tied embeddings) the look-up reads the panels, so that it is stored once. A
// quantised matrix is two weights, its elements and its scales, of which the first names the second.
#include "compiler/Transforms/MapUtils.h"
#include "compiler/Transforms/Passes.h"

#include "llvm/ADT/StringMap.h"

namespace xf {
#define GEN_PASS_DEF_XFHOISTWEIGHTS
#include "compiler/Transforms/Passes.h.inc"
} // namespace xf

using namespace mlir;
using namespace mlir::xf;

namespace {

/// The layer argument that `value`'s parameters are indexed by, if any; fails if there are several.
LogicalResult findLayer(Value value, BlockArgument &layer) {
  Operation *op = value.getDefiningOp();
  if (auto param = dyn_cast<ParamOp>(op)) {
    for (Value index : param.getIndices())
      if (auto arg = dyn_cast<BlockArgument>(index)) {
        if (layer && layer != arg)
          return param.emitError("a weight that depends on the layers of two nested stacks is not supported");
        layer = arg;
      }
    return success();
  }
  for (Value operand : op->getOperands())
    if (failed(findLayer(operand, layer)))
      return failure();
  return success();
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
          if (!isExpression(op) && ::xf::dependsOnParametersOnly(operand.get()))
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
    return op->getNumResults() > 0 && isa<RankedTensorType>(op->getResult(0).getType()) &&
           ::xf::dependsOnParametersOnly(op->getResult(0));
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

  /// Whether a contract has the same matrix, one for all layers, in panels.
  bool isShared(Value table) {
    BlockArgument layer;
    if (failed(findLayer(table, layer)) || layer)
      return false;
    WeightOp candidate = build(table, layer, Layout::panels);
    bool known = weights.contains(print(candidate));
    candidate->erase();
    return known;
  }

  LogicalResult hoist(Operation *op, OpOperand &operand, Layout layout) {
    Value value = operand.get();
    if (!::xf::dependsOnParametersOnly(value))
      return op->emitError("a linear's weight and bias must depend on parameters only");
    BlockArgument layer;
    if (failed(findLayer(value, layer)))
      return failure();
    WeightOp weight = name(value, layer, layout);
    auto quantize = value.getDefiningOp<QuantizeOp>();
    if (quantize && quantize->getNumResults() > 1 && value == quantize->getResult(0))
      weight.setScalesAttr(FlatSymbolRefAttr::get(name(quantize->getResult(1), layer, Layout::plain)));
    OpBuilder builder(outsideOfKernels(op));
    auto ref = ParamOp::create(builder, value.getLoc(), value.getType(), weight.getSymName(),
                               weight.getLayers() > 1 ? ValueRange(layer) : ValueRange());
    operand.set(ref);
    return success();
  }

  /// The weight of that value, named when it is first asked for.
  WeightOp name(Value value, BlockArgument layer, Layout layout) {
    WeightOp weight = build(value, layer, layout);
    WeightOp &known = weights[print(weight)];
    if (known) {
      weight->erase();
    } else {
      weight.setSymName(("w." + firstParameter(value)).str());
      symbols.insert(weight, entryPoint()); // makes the name unique
      known = weight;
    }
    return known;
  }

  /// A weight that stands nowhere yet.
  WeightOp build(Value value, BlockArgument layer, Layout layout) {
    int64_t layers = layer ? cast<RepeatOp>(layer.getOwner()->getParentOp()).getCount() : 1;
    OpBuilder builder(module.getContext());
    auto weight = WeightOp::create(builder, value.getLoc(), StringRef(), value.getType(), layers, layout,
                                   /*scales=*/FlatSymbolRefAttr());
    Block &body = weight.getBody().emplaceBlock();
    body.addArgument(builder.getIndexType(), value.getLoc());
    builder.setInsertionPointToStart(&body);
    IRMapping mapping;
    if (layer)
      mapping.map(layer, body.getArgument(0));
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
