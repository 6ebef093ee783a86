// Computes liveness over the ops in order (a value that a stack of layers reads from outside lives as long as the stack), then
// puts values, the largest first, into the lowest place that overlaps no value that lives at the same time.
#include "compiler/Conversion/XfToLLVM/MemoryPlan.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf {

int64_t elementBytes(Type element) { return element.isInteger(1) ? 1 : element.getIntOrFloatBitWidth() / 8; }

namespace {

struct Request {
  Monomial bytes;
  int64_t begin, end;
  unsigned *number; // of its slot
  int64_t offset = 0, size = 0; // at the bounds

  bool livesWith(const Request &other) const { return other.begin <= end && begin <= other.end; }
};

class Planner {
public:
  explicit Planner(EntryOp entry) : entry(entry), module(entry->getParentOfType<ModuleOp>()) {}

  MemoryPlan run(ArrayRef<ProloguePair> pairs) {
    int64_t next = 0;
    number(entry.getBody().front(), next);
    entry.walk([&](Operation *op) {
      if (auto repeat = dyn_cast<RepeatOp>(op))
        plan.carried[op].resize(repeat.getInits().size());
      else if (begin.contains(op) && !isa<RearrangeOp, SliceOp, ParamOp, AppendOp, LoadOp>(op)) // values inside a kernel have no place
        for (Value result : op->getResults())
          if (auto type = dyn_cast<RankedTensorType>(result.getType()); type && !isElsewhere(result))
            plan.values[result];
    });
    // The maps are complete: pointers into them stay valid.
    for (const ProloguePair &pair : pairs)
      keepFor(pair);
    auto request = [&](Value value, int64_t first, int64_t last, unsigned &number) {
      note(value, first, last);
      auto [from, to] = kept.at(value);
      requests.push_back({bytesOf(value), from, to, &number});
    };
    for (auto &[value, number] : plan.values)
      request(value, begin.lookup(value.getDefiningOp()), endOf(value), number);
    for (auto &[op, slots] : plan.carried)
      for (auto [i, slot] : llvm::enumerate(slots)) {
        Value result = op->getResult(i);
        int64_t last = std::max(end.lookup(op), endOf(result));
        request(result, begin.lookup(op), last, slot.first);
        request(result, begin.lookup(op), last, slot.second);
      }
    place();
    order();
    return std::move(plan);
  }

private:
  void number(Block &block, int64_t &next) {
    for (Operation &op : block) {
      begin[&op] = next++;
      if (auto repeat = dyn_cast<RepeatOp>(op))
        number(repeat.getBody().front(), next);
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
  void keepFor(const ProloguePair &pair) {
    int64_t from = begin.lookup(pair.row), to = end.lookup(pair.product);
    // If the product is in the next layer: as long as all layers.
    if (begin.lookup(pair.product) < from) {
      Operation *layers = pair.row->getParentOp();
      while (!layers->isProperAncestor(pair.product))
        layers = layers->getParentOp();
      from = begin.lookup(layers), to = end.lookup(layers);
    }
    for (Value operand : pair.row->getOperands())
      keep(operand, from, to);
    for (Value result : RowOp(pair.row)->getResults())
      keep(result, from, to);
  }

  void keep(Value value, int64_t from, int64_t to) {
    value = viewOf(value, module)->root;
    auto carry = [&](RepeatOp repeat, unsigned i) {
      keep(repeat.getInits()[i], from, to);
      note(repeat.getResult(i), from, to);
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
        keep(repeat.getBody().front().getTerminator()->getOperand(i), from, to);
    } else {
      note(value, from, to);
    }
  }

  void note(Value value, int64_t from, int64_t to) {
    auto &[first, last] = kept.try_emplace(value, from, to).first->second;
    first = std::min(first, from), last = std::max(last, to);
  }

  /// The last moment at which `value`, or a view of it, is read.
  int64_t endOf(Value value) {
    Block *home = value.getParentBlock();
    int64_t last = value.getDefiningOp() ? end.lookup(value.getDefiningOp()) : 0;
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      Operation *atHome = home->findAncestorOpInBlock(*user);
      last = std::max(last, end.lookup(atHome));
      // What is appended by its reader is read with it.
      bool isForReader = isa<AppendOp>(user) && cast<AppendOp>(user).getByReader();
      if (isForReader || isa<RearrangeOp, SliceOp>(user))
        last = std::max(last, user->getBlock() == home ? endOf(user->getResult(0)) : end.lookup(atHome));
      // A last layer's value leaves its stack under another name.
      if (isa<YieldOp>(user) && isa<RepeatOp>(user->getParentOp()))
        last = std::max(last, endOf(user->getParentOp()->getResult(use.getOperandNumber())));
      if (auto repeat = dyn_cast<RepeatOp>(user))
        last = std::max(last, end.lookup(repeat));
    }
    return last;
  }

  void place() {
    for (Request &request : requests)
      request.size = llvm::alignTo(std::max<int64_t>(request.bytes.most(module), 1), kSlotAlignment);
    llvm::stable_sort(requests, [](const Request &a, const Request &b) { return a.size > b.size; });
    SmallVector<const Request *> placed;
    for (Request &request : requests) {
      SmallVector<const Request *> neighbours;
      for (const Request *other : placed)
        if (request.livesWith(*other))
          neighbours.push_back(other);
      llvm::sort(neighbours, [](auto *a, auto *b) { return a->offset < b->offset; });
      for (const Request *other : neighbours)
        if (request.offset + request.size > other->offset && request.offset < other->offset + other->size)
          request.offset = other->offset + other->size;
      plan.bytes = std::max(plan.bytes, request.offset + request.size);
      placed.push_back(&request);
    }
  }

  /// Numbers the slots from the lowest on, and lists for each those below it that live at the same time.
  void order() {
    llvm::stable_sort(requests, [](const Request &a, const Request &b) { return a.offset < b.offset; });
    for (const auto &[i, request] : llvm::enumerate(requests)) {
      Slot slot{request.bytes, {}};
      for (unsigned below = 0; below < i; ++below)
        if (request.livesWith(requests[below]))
          slot.below.push_back(below);
      *request.number = plan.slots.size();
      plan.slots.push_back(slot);
    }
  }

  EntryOp entry;
  ModuleOp module;
  MemoryPlan plan;
  DenseMap<Operation *, int64_t> begin, end;
  SmallVector<Request> requests;
  DenseMap<Value, std::pair<int64_t, int64_t>> kept; // the first and the last moment at which a place is needed
};

} // namespace

MemoryPlan planMemory(EntryOp entry, ArrayRef<ProloguePair> pairs) { return Planner(entry).run(pairs); }

} // namespace xf
