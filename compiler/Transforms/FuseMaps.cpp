// Element-wise maps move into the map that is their only user.
//
// A description's expression arrives as one map for each operator. Merged, they are what an epilogue or a row kernel
// can take whole.
#include "compiler/Transforms/MapUtils.h"
#include "compiler/Transforms/Passes.h"

namespace xf {
#define GEN_PASS_DEF_XFFUSEMAPS
#include "compiler/Transforms/Passes.h.inc"
} // namespace xf

using namespace mlir;
using namespace mlir::xf;

namespace {

/// Operations of a map, more than any sensible one has: code is made of one as a whole.
constexpr size_t kMostOperations = 2000;

size_t countOperations(MapOp map) { return map.getBody().front().getOperations().size(); }

/// Whether `producer` can move into `user`: nobody else uses it, and user reads every element of it exactly once for
/// each of its own, so that nothing is computed twice.
bool canFuse(MapOp producer, MapOp user) {
  if (producer->getNumResults() != 1 || producer->getBlock() != user->getBlock() || countOperations(producer) + countOperations(user) > kMostOperations)
    return false;
  for (OpOperand &use : producer->getUses())
    if (use.getOwner() != user || !::xf::isPermutationMap(user.getMap(use.getOperandNumber()), user.getShape().getRank()))
      return false;
  return true;
}

/// `user` with all its fusable producers inside; null if it has none.
MapOp fuseProducers(MapOp user) {
  SmallVector<MapOp> producers(user.getInputs().size());
  for (auto [i, input] : llvm::enumerate(user.getInputs()))
    if (auto producer = input.getDefiningOp<MapOp>(); producer && canFuse(producer, user))
      producers[i] = producer;
  if (llvm::none_of(producers, [](MapOp p) { return bool(p); }))
    return {};
  OpBuilder builder(user);
  ::xf::MappedInputs inputs;
  SmallVector<SmallVector<unsigned>> numbers; // of each old operand: the new operands that compute it
  for (unsigned i = 0; i < producers.size(); ++i) {
    auto &list = numbers.emplace_back();
    if (!producers[i]) {
      list.push_back(inputs.add(user.getInputs()[i], user.getMap(i)));
      continue;
    }
    for (unsigned j = 0; j < producers[i].getInputs().size(); ++j)
      list.push_back(inputs.add(producers[i].getInputs()[j], ::xf::composeMaps(producers[i].getMap(j), user.getMap(i))));
  }
  auto fused = MapOp::create(builder, user.getLoc(), user.getResultTypes(), inputs.values(), inputs.maps(builder));
  Block &block = fused.getBody().emplaceBlock();
  for (Value v : inputs.values())
    block.addArgument(cast<RankedTensorType>(v.getType()).getElementType(), v.getLoc());
  builder.setInsertionPointToStart(&block);
  SmallVector<Value> args;
  for (unsigned i = 0; i < producers.size(); ++i) {
    SmallVector<Value> own = llvm::map_to_vector(numbers[i], [&](unsigned n) -> Value { return block.getArgument(n); });
    args.push_back(producers[i] ? ::xf::inlineBody(builder, producers[i].getBody(), own)[0] : own[0]);
  }
  YieldOp::create(builder, user.getLoc(), ::xf::inlineBody(builder, user.getBody(), args));
  user->replaceAllUsesWith(fused);
  user->erase();
  for (MapOp producer : llvm::SmallSetVector<MapOp, 4>(producers.begin(), producers.end()))
    if (producer)
      producer->erase();
  return fused;
}

struct FuseMaps : ::xf::impl::XfFuseMapsBase<FuseMaps> {
  void runOnOperation() override {
    SmallVector<MapOp> maps;
    getOperation()->walk([&](MapOp map) { maps.push_back(map); });
    // Users before producers: a producer that moves is gone from the list when it is its turn.
    DenseSet<Operation *> alive;
    for (MapOp map : maps)
      alive.insert(map);
    for (MapOp map : llvm::reverse(maps)) {
      if (!alive.contains(map))
        continue;
      for (MapOp current = map; current;) {
        for (Value input : current.getInputs())
          if (auto producer = input.getDefiningOp<MapOp>(); producer && canFuse(producer, current))
            alive.erase(producer);
        current = fuseProducers(current);
      }
    }
  }
};

} // namespace
