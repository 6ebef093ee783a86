// Element-wise maps move into the map that is their only user.
//
// A description's expression arrives as one map for each operator. Merged, they are what an epilogue or a row kernel
// can take whole.
#include "compiler/Transforms/MapUtils.h"
#include "compiler/Transforms/Passes.h"

#include "llvm/ADT/SetVector.h"

namespace xf {
#define GEN_PASS_DEF_XFFUSEMAPS
#include "compiler/Transforms/Passes.h.inc"
} // namespace xf

using namespace mlir;
using namespace mlir::xf;

namespace {

/// The most operations of a fused map, more than any sensible one has: a map becomes code as a whole.
constexpr size_t kMaxOperations = 2000;

/// A map and the producers that move into it: nobody else uses them, and they are read element by element, so that nothing is computed
/// twice. They move all at once: if they moved one by one, each move would copy what has moved before.
class Fusion {
public:
  explicit Fusion(MapOp root) : root(root) {
    add(root);
    for (size_t i = 0; i < members.size(); ++i) // which grow
      for (OpOperand &use : members[i]->getOpOperands())
        if (auto producer = use.get().getDefiningOp<MapOp>(); producer && canFuse(producer) && isLastUse(use))
          add(producer);
  }

  /// Users before producers.
  ArrayRef<Operation *> getMembers() const { return members.getArrayRef(); }

  /// Replaces the members by one map.
  void run() {
    OpBuilder builder(root);
    auto fused = MapOp::create(builder, root.getLoc(), root.getResultTypes(), ValueRange(), builder.getArrayAttr({}));
    body = &fused.getBody().emplaceBlock();
    builder.setInsertionPointToStart(body);
    YieldOp::create(builder, root.getLoc(), inlined(builder, root, ::xf::identityMap(root.getShape().getRank())));
    fused.getInputsMutable().assign(inputs.values());
    fused.setMapsAttr(inputs.maps(builder));
    root->replaceAllUsesWith(fused);
    for (Operation *member : members)
      member->erase();
  }

private:
  static size_t countOperations(MapOp map) { return map.getBody().front().getOperations().size(); }

  bool canFuse(MapOp producer) {
    return producer->getNumResults() == 1 && producer->getBlock() == root->getBlock() && operations + countOperations(producer) <= kMaxOperations &&
           reads + producer.getNumOperands() <= ::xf::kMaxFusedInputs + 1;
  }

  void add(MapOp map) {
    members.insert(map);
    operations += countOperations(map);
    reads += map.getNumOperands() - (map == root ? 0 : 1);
  }

  /// Counts a use by a member; whether all uses are now by members.
  bool isLastUse(OpOperand &use) {
    auto user = cast<MapOp>(use.getOwner());
    if (!::xf::isPermutationMap(user.getMap(use.getOperandNumber()), user.getShape().getRank()))
      return false;
    auto [open, isNew] = openUses.try_emplace(use.get());
    if (isNew)
      open->second = llvm::range_size(use.get().getUses());
    return --open->second == 0;
  }

  /// Inlines the body of `map` after those of its producers and returns what it yields; `dims` maps its dimensions to the root's.
  SmallVector<Value> inlined(OpBuilder &builder, MapOp map, ArrayRef<int64_t> dims) {
    SmallVector<Value> elements;
    for (auto [i, input] : llvm::enumerate(map.getInputs())) {
      SmallVector<int64_t> inputDims = ::xf::composeMaps(map.getMap(i), dims);
      auto producer = input.getDefiningOp<MapOp>();
      elements.push_back(producer && members.contains(producer) ? element(builder, producer, inputDims) : argument(input, inputDims));
    }
    return ::xf::inlineBody(builder, map.getBody(), elements);
  }

  Value element(OpBuilder &builder, MapOp producer, ArrayRef<int64_t> dims) {
    auto &memo = computed[producer];
    for (auto &[memoDims, value] : memo)
      if (ArrayRef<int64_t>(memoDims) == dims)
        return value;
    Value value = inlined(builder, producer, dims)[0];
    computed[producer].emplace_back(dims, value);
    return value;
  }

  Value argument(Value input, ArrayRef<int64_t> dims) {
    unsigned index = inputs.add(input, dims);
    if (index == body->getNumArguments())
      body->addArgument(cast<RankedTensorType>(input.getType()).getElementType(), input.getLoc());
    return body->getArgument(index);
  }

  MapOp root;
  size_t operations = 0, reads = 0; // reads: at most, as the same tensor may be read twice
  llvm::SetVector<Operation *> members;
  DenseMap<Value, size_t> openUses; // how many are not yet known to be by members
  Block *body = nullptr;
  ::xf::MappedInputs inputs;
  DenseMap<Operation *, SmallVector<std::pair<SmallVector<int64_t>, Value>, 1>> computed; // by dimensions
};

struct FuseMaps : ::xf::impl::XfFuseMapsBase<FuseMaps> {
  void runOnOperation() override {
    SmallVector<MapOp> maps;
    getOperation()->walk([&](MapOp map) { maps.push_back(map); });
    // Users before producers: one that has moved is gone when it is its turn.
    DenseSet<Operation *> moved;
    for (MapOp map : llvm::reverse(maps)) {
      if (moved.contains(map))
        continue;
      Fusion fusion(map);
      if (fusion.getMembers().size() == 1)
        continue;
      moved.insert_range(fusion.getMembers());
      fusion.run();
    }
  }
};

} // namespace
