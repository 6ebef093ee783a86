// Linears become contracts, with the bias and the map behind them as epilogue.
#include "compiler/Transforms/MapUtils.h"
#include "compiler/Transforms/Passes.h"
#include "dialect/IR/Producers.h"

namespace xf {
#define GEN_PASS_DEF_XFFORMCONTRACTS
#include "compiler/Transforms/Passes.h.inc"
} // namespace xf

using namespace mlir;
using namespace mlir::xf;

namespace {

/// The map that can become the epilogue of `linear`, or null.
MapOp epilogueOf(LinearOp linear) {
  if (!linear->hasOneUse())
    return {};
  OpOperand &use = *linear->getUses().begin();
  auto map = dyn_cast<MapOp>(use.getOwner());
  int64_t rank = linear.getResult().getType().getRank();
  if (!map || map->getBlock() != linear->getBlock() || map->getNumResults() != 1 ||
      map.getShape().getShape() != linear.getResult().getType().getShape() || !::xf::isIdentityMap(map.getMap(use.getOperandNumber())))
    return {};
  for (unsigned i = 0; i < map.getInputs().size(); ++i)
    if (!::xf::fitsEpilogue(map.getMap(i), rank))
      return {};
  return map;
}

void formContract(LinearOp linear) {
  MapOp map = epilogueOf(linear);
  OpBuilder builder(map ? map.getOperation() : linear.getOperation());
  auto type = cast<RankedTensorType>(map ? map->getResult(0).getType() : linear.getResult().getType());
  ::xf::MappedInputs extras;
  unsigned bias = linear.getBias() ? extras.add(linear.getBias(), {type.getRank() - 1}) : 0;
  SmallVector<int> extraIndices; // for each operand of the map: the index of its extra, or -1 for the product
  if (map)
    for (auto [i, input] : llvm::enumerate(map.getInputs()))
      extraIndices.push_back(input == linear.getResult() ? -1 : int(extras.add(input, map.getMap(i))));
  // The contract has the linear's location; the map's ops keep their own.
  auto contract = ContractOp::create(builder, linear.getLoc(), type, linear.getX(), linear.getWeight(), extras.values(), extras.maps(builder));
  Block &block = contract.getBody().emplaceBlock();
  block.addArgument(cast<RankedTensorType>(linear.getResult().getType()).getElementType(), linear.getLoc());
  for (Value v : extras.values())
    block.addArgument(cast<RankedTensorType>(v.getType()).getElementType(), v.getLoc());
  builder.setInsertionPointToStart(&block);
  Value acc = block.getArgument(0);
  if (linear.getBias())
    acc = arith::AddFOp::create(builder, linear.getLoc(), acc, block.getArgument(1 + bias));
  SmallVector<Value> results{acc};
  if (map)
    results = ::xf::inlineBody(builder, map.getBody(),
                               llvm::map_to_vector(extraIndices, [&](int n) -> Value { return n < 0 ? acc : block.getArgument(1 + n); }));
  YieldOp::create(builder, contract.getLoc(), results);
  Value old = map ? Value(map->getResult(0)) : Value(linear.getResult());
  old.replaceAllUsesWith(contract.getResult());
  if (map)
    map->erase();
  linear->erase();
}

struct FormContracts : ::xf::impl::XfFormContractsBase<FormContracts> {
  void runOnOperation() override {
    SmallVector<LinearOp> linears;
    getOperation()->walk([&](LinearOp linear) {
      if (!linear->getParentOfType<WeightOp>() && !dependsOnParametersOnly(linear.getResult()))
        linears.push_back(linear);
    });
    // Later linears first: where a map joins two products, the later one takes it and reads the other.
    for (LinearOp linear : llvm::reverse(linears))
      formContract(linear);
  }
};

} // namespace
