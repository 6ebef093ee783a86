// What a layer computes of its input alone is computed where that input is made.
//
// The layers of a post-norm model begin with rounding or quantising the result of the norm at the end of the layer before. A row
// kernel of its own would read these rows again; if the copy is carried from layer to layer beside them, the norm's kernel makes it.
#include "compiler/Transforms/MapUtils.h"
#include "compiler/Transforms/Passes.h"

#include "mlir/IR/OperationSupport.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

namespace xf {
#define GEN_PASS_DEF_XFROTATELAYERS
#include "compiler/Transforms/Passes.h.inc"
} // namespace xf

using namespace mlir;
using namespace mlir::xf;

namespace {

/// The ops of a body that depend on one carried value alone.
struct Derived {
  unsigned carried; // its index
  llvm::SetVector<Operation *> ops;
  SmallVector<Value> used; // results of theirs that others read

  /// Clones the ops with `source` for the carried value, and gives the copies of `used`.
  SmallVector<Value> cloneOf(OpBuilder &builder, Value carriedValue, Value source) const {
    IRMapping mapping;
    mapping.map(carriedValue, source);
    for (Operation *op : ops)
      builder.clone(*op, mapping);
    return llvm::map_to_vector(used, [&](Value value) { return mapping.lookup(value); });
  }
};

/// Whether maps of its own block compute `value` from a row statistic: no epilogue of a product then makes it.
bool isMadeByRows(Value value, Block *body) {
  llvm::SetVector<Operation *> maps;
  auto consider = [&](Value made) {
    if (auto map = made.getDefiningOp<MapOp>(); map && map->getBlock() == body)
      maps.insert(map);
  };
  consider(value);
  for (size_t i = 0; i < maps.size(); ++i)
    for (Value input : maps[i]->getOperands()) {
      if (input.getDefiningOp<ReduceOp>())
        return true;
      consider(input);
    }
  return false;
}

class Rotation {
public:
  explicit Rotation(RepeatOp repeat) : repeat(repeat), builder(repeat) {}

  void run() {
    for (unsigned i = 0; i < repeat.getInits().size(); ++i)
      if (Derived found = derivedFrom(i); !found.used.empty())
        all.push_back(std::move(found));
    if (all.empty())
      return;
    SmallVector<Value> inits = llvm::to_vector(repeat.getInits());
    for (const Derived &derived : all)
      llvm::append_range(inits, derived.cloneOf(builder, carriedValue(derived), repeat.getInits()[derived.carried]));
    yieldThem();
    unsigned next = repeat.getInits().size();
    rebuild(inits);
    for (const Derived &derived : all) {
      shareBehind(derived, repeat->getResults().slice(next, derived.used.size()));
      next += derived.used.size();
    }
    takeAsCarried();
  }

private:
  Block &body() { return repeat.getBody().front(); }
  Value carriedValue(const Derived &derived) { return repeat.getCarried()[derived.carried]; }

  Derived derivedFrom(unsigned carried) {
    Derived found{carried, {}, {}};
    if (!isMadeByRows(body().getTerminator()->getOperand(carried), &body()))
      return found;
    auto isKnown = [&](Value value) { return value == repeat.getCarried()[carried] || found.ops.contains(value.getDefiningOp()); };
    for (Operation &op : body()) {
      if (!isa<MapOp, ReduceOp>(op) || op.getNumOperands() == 0 || !llvm::all_of(op.getOperands(), isKnown))
        continue;
      llvm::SetVector<Value> captured;
      getUsedValuesDefinedAbove(op.getRegions(), captured);
      if (areValuesDefinedAbove(captured, repeat.getBody()))
        found.ops.insert(&op);
    }
    for (Operation *op : found.ops)
      for (Value result : op->getResults())
        if (llvm::any_of(result.getUsers(), [&](Operation *user) { return !found.ops.contains(user); }))
          found.used.push_back(result);
    return found;
  }

  /// Yields the new carried values, behind the old ones.
  void yieldThem() {
    Operation *yield = body().getTerminator();
    SmallVector<Value> yielded = llvm::to_vector(yield->getOperands());
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(yield);
    unsigned position = repeat.getInits().size();
    for (const Derived &derived : all)
      for (Value value : derived.cloneOf(builder, carriedValue(derived), yielded[derived.carried]))
        yielded.insert(yielded.begin() + position++, value);
    yield->setOperands(yielded);
  }

  void rebuild(ArrayRef<Value> inits) {
    unsigned before = repeat.getInits().size(), added = inits.size() - before;
    auto rotated = RepeatOp::create(builder, repeat.getLoc(), body().getTerminator()->getOperandTypes(), repeat.getCountAttr(), inits);
    rotated.getBody().takeBody(repeat.getBody());
    for (unsigned i = 0; i < repeat->getNumResults(); ++i)
      repeat->getResult(i).replaceAllUsesWith(rotated->getResult(i < before ? i : i + added));
    repeat->erase();
    repeat = rotated;
  }

  /// Replaces ops behind the loop that compute the same from its result by `made`, which the last layer has computed.
  void shareBehind(const Derived &derived, ResultRange made) {
    IRMapping mapping;
    mapping.map(carriedValue(derived), repeat->getResult(derived.carried));
    SmallVector<Operation *> replaced;
    for (Operation *op : derived.ops) {
      Value first = mapping.lookupOrNull(op->getOperand(0));
      for (Operation *user : first ? llvm::to_vector(first.getUsers()) : SmallVector<Operation *>()) {
        IRMapping inside = mapping; // and of what the ops' regions hold
        auto isSame = [&](Value own, Value others) { return success(own == others || inside.lookupOrNull(own) == others); };
        auto note = [&](Value own, Value others) { inside.map(own, others); };
        if (user->getBlock() != repeat->getBlock() ||
            !OperationEquivalence::isEquivalentTo(op, user, isSame, note, OperationEquivalence::IgnoreLocations))
          continue;
        mapping.map(op->getResults(), user->getResults());
        replaced.push_back(user);
        break;
      }
    }
    for (auto [value, result] : llvm::zip(derived.used, made))
      if (Value same = mapping.lookupOrNull(value))
        same.replaceAllUsesWith(result);
    for (Operation *op : llvm::reverse(replaced))
      if (op->use_empty())
        op->erase();
  }

  void takeAsCarried() {
    for (const Derived &derived : all) {
      for (Value value : derived.used)
        value.replaceAllUsesWith(body().addArgument(value.getType(), value.getLoc()));
      for (Operation *op : llvm::reverse(derived.ops))
        op->erase();
    }
  }

  RepeatOp repeat;
  OpBuilder builder;
  SmallVector<Derived> all;
};

struct RotateLayers : ::xf::impl::XfRotateLayersBase<RotateLayers> {
  void runOnOperation() override {
    SmallVector<RepeatOp> repeats;
    getOperation()->walk([&](RepeatOp repeat) { repeats.push_back(repeat); });
    for (RepeatOp repeat : repeats)
      Rotation(repeat).run();
  }
};

} // namespace
