#include "compiler/Explain/Reasons.h"

#include "compiler/Explain/Members.h"
#include "compiler/Transforms/MapUtils.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf {
namespace {

/// Where the inputs of a row op come from.
struct RowSources {
  explicit RowSources(RowOp row) {
    for (Value input : row.getInputs()) {
      Operation *from = producerOf(input);
      if (!from)
        readsPreviousLayer |= isa<RepeatOp>(input.getParentBlock()->getParentOp());
      else if (isa<RepeatOp>(from))
        readsLoop = true;
      else if (from->getBlock() == row->getBlock() && isa<ContractOp, AttendOp, ScanOp, ScanStepOp>(from) && !producer)
        producer = from;
      else if (auto rows = dyn_cast<RowOp>(from); rows && from->getBlock() == row->getBlock())
        others.push_back(rows);
    }
  }

  Operation *producer = nullptr; // the first op that computes and is no row op
  SmallVector<RowOp> others;
  bool readsPreviousLayer = false, readsLoop = false; // something comes from the layer before, or out of a loop
};

template <typename Inner> bool holds(RowOp row) {
  return row->walk([](Inner) { return WalkResult::interrupt(); }).wasInterrupted();
}

/// The dimensions of the rows that it runs over.
SmallVector<std::pair<int64_t, StringRef>> rowsOf(RowOp row) {
  auto type = typeOf(row->getResult(0));
  SmallVector<std::pair<int64_t, StringRef>> rows;
  for (int64_t d = 0; d + 1 < type.getRank(); ++d)
    rows.push_back({type.getDimSize(d), getDimName(type, d)});
  return rows;
}

std::string tooMany() { return "together they would read more than " + std::to_string(kMaxFusedInputs) + " tensors, the most for a kernel"; }

/// Why a row op that follows a product, attention or a scan is apart.
std::string whyNotFusedWith(Operation *producer, RowOp row) {
  auto product = dyn_cast<ContractOp>(producer);
  std::string name = product ? "the product before it" : isa<AttendOp>(producer) ? "attention" : "the scan before it";
  if (holds<ReduceOp>(row))
    return "it needs whole rows, of which " + name + " makes parts";
  if (!product)
    return name + " has no epilogue";
  llvm::SetVector<Operation *> users;
  collectUsers(product.getResult(), users);
  if (users.size() > 1)
    return "others, too, read what " + name + " gives";
  if (row.getInputs().size() + product.getExtras().size() > kMaxFusedInputs)
    return tooMany();
  return "it reads tensors of other shapes than " + name + " gives";
}

/// Why a row op that follows other row ops is apart from them.
std::string whyNotFusedWithRows(ArrayRef<RowOp> others, RowOp row) {
  size_t inputs = row.getInputs().size();
  for (RowOp other : others) {
    if (rowsOf(other) != rowsOf(row) || llvm::none_of(row.getInputs(), [&](Value input) { return input.getDefiningOp() == other; }))
      return "it runs over other rows than those that make what it reads";
    inputs += other.getInputs().size();
  }
  return inputs > kMaxFusedInputs ? tooMany() : "what it reads is needed by others before";
}

std::string whyNotFused(RowOp row) {
  RowSources sources(row);
  if (sources.producer)
    return whyNotFusedWith(sources.producer, row);
  if (!sources.others.empty())
    return whyNotFusedWithRows(sources.others, row);
  if (sources.readsLoop)
    return "what it reads comes out of the layers, which are a loop";
  if (sources.readsPreviousLayer)
    return "what it reads comes from the layer before";
  return holds<EmbedOp>(row) ? "" : "nothing is computed before it that it could be a part of";
}

} // namespace

std::string whyNotFused(Operation *op) {
  if (auto pack = dyn_cast<PackOp>(op); pack && pack.getLayout() == Layout::plain)
    return llvm::all_of(op->getUsers(), [](Operation *user) { return isa<YieldOp, ReturnOp, RepeatOp>(user); })
               ? "it is to lie elsewhere than where it is computed"
               : "what reads it cannot read it where it lies";
  if (isa<PackOp, SpreadOp>(op))
    return "copied once into the order in which attention reads it, for all queries";
  if (isa<AppendOp, StoreOp>(op))
    return "kept for steps that follow";
  if (isa<ConcatOp>(op))
    return "no strides show the parts as one tensor";
  auto row = dyn_cast<RowOp>(op);
  return row ? whyNotFused(row) : "";
}

} // namespace xf
