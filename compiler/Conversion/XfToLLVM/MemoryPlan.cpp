// Computes liveness over the ops in order (a value that a stack of layers reads from outside lives as long as the stack), then
// puts values, the largest first, at the lowest offset that overlaps no value that lives at the same time.
#include "compiler/Conversion/XfToLLVM/MemoryPlan.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf {

int64_t elementBytes(Type element) { return element.isInteger(1) ? 1 : element.getIntOrFloatBitWidth() / 8; }

namespace {

struct Allocation {
  Monomial bytes;
  int64_t begin, end;
  unsigned *slot; // its index
  int64_t offset = 0, size = 0; // at the bounds

  bool interferesWith(const Allocation &other) const { return other.begin <= end && begin <= other.end; }
};

class Planner {
public:
  explicit Planner(EntryOp entry) : entry(entry), module(entry->getParentOfType<ModuleOp>()) {}

  MemoryPlan run(ArrayRef<ProloguePair> pairs) {
    int64_t next = 0;
    numberOps(entry.getBody().front(), next);
    entry.walk([&](Operation *op) {
      if (auto repeat = dyn_cast<RepeatOp>(op))
        plan.carried[op].resize(repeat.getInits().size());
      else if (begin.contains(op) && !isa<RearrangeOp, SliceOp, ParamOp, AppendOp, LoadOp>(op)) // values inside a kernel have no slot
        for (Value result : op->getResults())
          if (auto type = dyn_cast<RankedTensorType>(result.getType()); type && !isElsewhere(result))
            plan.values[result];
    });
    // The maps are complete: pointers into them stay valid.
    for (const ProloguePair &pair : pairs)
      extendLifetimes(pair);
    auto allocate = [&](Value value, int64_t first, int64_t last, unsigned &slot) {
      extend(value, first, last);
      auto [from, to] = lifetimes.at(value);
      allocations.push_back({bytesOf(value), from, to, &slot});
    };
    for (auto &[value, slot] : plan.values)
      allocate(value, begin.lookup(value.getDefiningOp()), lastUse(value), slot);
    for (auto &[op, slots] : plan.carried)
      for (auto [i, slot] : llvm::enumerate(slots)) {
        Value result = op->getResult(i);
        int64_t last = std::max(end.lookup(op), lastUse(result));
        allocate(result, begin.lookup(op), last, slot.first);
        allocate(result, begin.lookup(op), last, slot.second);
      }
    assignOffsets();
    orderSlots();
    return std::move(plan);
  }

private:
  void numberOps(Block &block, int64_t &next) {
    for (Operation &op : block) {
      begin[&op] = next++;
      if (auto repeat = dyn_cast<RepeatOp>(op))
        numberOps(repeat.getBody().front(), next);
      end[&op] = next++;
    }
  }

  Monomial bytesOf(Value value) {
    return ::xf::rootElements(value, module) * Monomial{elementBytes(cast<RankedTensorType>(value.getType()).getElementType())};
  }

  /// Whether the value is not in the workspace, or is in the slots of a stack's carried value.
  bool isElsewhere(Value value) {
    for (OpOperand &use : value.getUses()) {
      if (isa<ReturnOp>(use.getOwner()))
        return true;
      if (isa<YieldOp>(use.getOwner()))
        if (auto repeat = dyn_cast<RepeatOp>(use.getOwner()->getParentOp()))
          if (use.getOperandNumber() < repeat.getInits().size())
            return true;
    }
    return false;
  }

  /// Keeps what the row op reads and writes alive until the product ends.
  void extendLifetimes(const ProloguePair &pair) {
    int64_t from = begin.lookup(pair.row), to = end.lookup(pair.product);
    // If the product is in the next layer: as long as all layers.
    if (begin.lookup(pair.product) < from) {
      Operation *layers = pair.row->getParentOp();
      while (!layers->isProperAncestor(pair.product))
        layers = layers->getParentOp();
      from = begin.lookup(layers), to = end.lookup(layers);
    }
    for (Value operand : pair.row->getOperands())
      extendLifetime(operand, from, to);
    for (Value result : RowOp(pair.row)->getResults())
      extendLifetime(result, from, to);
  }

  void extendLifetime(Value value, int64_t from, int64_t to) {
    value = viewOf(value, module)->root;
    auto carry = [&](RepeatOp repeat, unsigned i) {
      extendLifetime(repeat.getInits()[i], from, to);
      extend(repeat.getResult(i), from, to);
    };
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto repeat = dyn_cast<RepeatOp>(argument.getOwner()->getParentOp());
      if (repeat && argument.getArgNumber() > 0)
        carry(repeat, argument.getArgNumber() - 1);
    } else if (auto repeat = value.getDefiningOp<RepeatOp>()) {
      unsigned i = cast<OpResult>(value).getResultNumber();
      if (i < repeat.getInits().size())
        carry(repeat, i);
      else
        extendLifetime(repeat.getBody().front().getTerminator()->getOperand(i), from, to);
    } else {
      extend(value, from, to);
    }
  }

  void extend(Value value, int64_t from, int64_t to) {
    auto &[first, last] = lifetimes.try_emplace(value, from, to).first->second;
    first = std::min(first, from), last = std::max(last, to);
  }

  /// The last moment at which `value`, or a view of it, is read.
  int64_t lastUse(Value value) {
    Block *home = value.getParentBlock();
    int64_t last = value.getDefiningOp() ? end.lookup(value.getDefiningOp()) : 0;
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      Operation *atHome = home->findAncestorOpInBlock(*user);
      last = std::max(last, end.lookup(atHome));
      // What is appended by its reader is read with it.
      bool isForReader = isa<AppendOp>(user) && cast<AppendOp>(user).getByReader();
      if (isForReader || isa<RearrangeOp, SliceOp>(user))
        last = std::max(last, user->getBlock() == home ? lastUse(user->getResult(0)) : end.lookup(atHome));
      // A last layer's value leaves its stack under another name.
      if (isa<YieldOp>(user) && isa<RepeatOp>(user->getParentOp()))
        last = std::max(last, lastUse(user->getParentOp()->getResult(use.getOperandNumber())));
      if (auto repeat = dyn_cast<RepeatOp>(user))
        last = std::max(last, end.lookup(repeat));
    }
    return last;
  }

  void assignOffsets() {
    for (Allocation &allocation : allocations)
      allocation.size = llvm::alignTo(std::max<int64_t>(allocation.bytes.upperBound(module), 1), kSlotAlignment);
    llvm::stable_sort(allocations, [](const Allocation &a, const Allocation &b) { return a.size > b.size; });
    SmallVector<const Allocation *> allocated;
    for (Allocation &allocation : allocations) {
      SmallVector<const Allocation *> interfering;
      for (const Allocation *other : allocated)
        if (allocation.interferesWith(*other))
          interfering.push_back(other);
      llvm::sort(interfering, [](auto *a, auto *b) { return a->offset < b->offset; });
      for (const Allocation *other : interfering)
        if (allocation.offset + allocation.size > other->offset && allocation.offset < other->offset + other->size)
          allocation.offset = other->offset + other->size;
      plan.bytes = std::max(plan.bytes, allocation.offset + allocation.size);
      allocated.push_back(&allocation);
    }
  }

  /// Numbers the slots from the lowest on, and lists for each those below it that live at the same time.
  void orderSlots() {
    llvm::stable_sort(allocations, [](const Allocation &a, const Allocation &b) { return a.offset < b.offset; });
    for (const auto &[i, allocation] : llvm::enumerate(allocations)) {
      Slot slot{allocation.bytes, {}};
      for (unsigned below = 0; below < i; ++below)
        if (allocation.interferesWith(allocations[below]))
          slot.below.push_back(below);
      *allocation.slot = plan.slots.size();
      plan.slots.push_back(slot);
    }
  }

  EntryOp entry;
  ModuleOp module;
  MemoryPlan plan;
  DenseMap<Operation *, int64_t> begin, end;
  SmallVector<Allocation> allocations;
  DenseMap<Value, std::pair<int64_t, int64_t>> lifetimes; // the first and the last moment at which its memory is needed
};

} // namespace

MemoryPlan planMemory(EntryOp entry, ArrayRef<ProloguePair> pairs) { return Planner(entry).run(pairs); }

} // namespace xf
