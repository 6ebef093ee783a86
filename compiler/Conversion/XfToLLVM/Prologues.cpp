#include "compiler/Conversion/XfToLLVM/Prologues.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf {

bool hasKernel(Operation *op) { return !isa<RearrangeOp, SliceOp, ParamOp, LoadOp, arith::ConstantOp, arith::AddIOp, arith::MulIOp>(op); }

namespace {

/// The kernels that may run next, from `op` on.
void findNext(Operation *op, SmallVectorImpl<Operation *> &next) {
  for (; op; op = op->getNextNode()) {
    if (auto repeat = dyn_cast<RepeatOp>(op))
      return findNext(&repeat.getBody().front().front(), next);
    if (isa<YieldOp>(op)) {
      // Another layer, or what follows the last one.
      Operation *repeat = op->getParentOp();
      if (!isa<RepeatOp>(repeat) || llvm::is_contained(next, repeat))
        return;
      next.push_back(repeat); // seen
      findNext(&op->getBlock()->front(), next);
      return findNext(repeat->getNextNode(), next);
    }
    // An append whose reader does it for one position has no kernel where rows are few.
    auto append = dyn_cast<AppendOp>(op);
    if (hasKernel(op) && !(append && append.getByReader())) {
      next.push_back(op);
      return;
    }
  }
}

/// Whether `value` may be `other`, which layers may have carried there.
bool mayAlias(Value value, Value other, llvm::SmallPtrSetImpl<void *> &seen) {
  if (value == other)
    return true;
  if (!seen.insert(value.getAsOpaquePointer()).second)
    return false;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto repeat = dyn_cast<RepeatOp>(argument.getOwner()->getParentOp());
    if (!repeat)
      return false;
    for (auto [i, carried] : llvm::enumerate(repeat.getCarried()))
      if (carried == argument)
        return mayAlias(repeat.getInits()[i], other, seen) || mayAlias(argument.getOwner()->getTerminator()->getOperand(i), other, seen);
    return false;
  }
  if (auto repeat = value.getDefiningOp<RepeatOp>())
    return mayAlias(repeat.getBody().front().getTerminator()->getOperand(cast<OpResult>(value).getResultNumber()), other, seen);
  // A part or another order of it.
  if (isa_and_nonnull<RearrangeOp, SliceOp>(value.getDefiningOp()))
    return mayAlias(value.getDefiningOp()->getOperand(0), other, seen);
  return false;
}

bool mayAlias(Value value, Value other) {
  llvm::SmallPtrSet<void *, 8> seen;
  return mayAlias(value, other, seen);
}

} // namespace

/// Whether `product`, a layer's first kernel, writes where `row`, in the previous layer, may still read: the buffer of that layer's input, or
/// of the previous layer's result of `product`.
static bool writesInput(RowOp row, ContractOp product) {
  bool isAfter = product->getBlock() == row->getBlock() && row->isBeforeInBlock(product);
  auto isYield = [](Operation *user) { return isa<YieldOp>(user); };
  auto isResult = [&](Value operand) { return mayAlias(operand, product.getResult()); };
  return !isAfter && (llvm::any_of(product->getUsers(), isYield) || llvm::any_of(row->getOperands(), isResult));
}

SmallVector<ProloguePair> findPrologues(EntryOp entry) {
  SmallVector<ProloguePair> pairs;
  entry.walk([&](RowOp row) {
    SmallVector<Operation *> next;
    findNext(row->getNextNode(), next);
    for (Operation *op : next) {
      auto product = dyn_cast<ContractOp>(op);
      if (!product || writesInput(row, product))
        continue;
      for (OpResult result : row->getResults()) {
        auto isRead = [&](Value extra) { return llvm::any_of(row->getResults(), [&](Value any) { return mayAlias(extra, any); }); };
        auto type = cast<RankedTensorType>(result.getType());
        if (type.getRank() > 1 && product.getX().getType() == type && mayAlias(product.getX(), result) && llvm::none_of(product.getExtras(), isRead))
          pairs.push_back({row, result.getResultNumber(), product});
      }
    }
  });
  return pairs;
}

} // namespace xf
