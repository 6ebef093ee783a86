#include "compiler/Frontend/Ranges.h"

#include "dialect/IR/Xf.h"

#include "mlir/Interfaces/InferIntRangeInterface.h"

using namespace mlir;

namespace xf::frontend {

namespace {

unsigned widthOf(Value value) {
  Type element = getElementTypeOrSelf(value.getType());
  return element.isIndex() ? IndexType::kInternalStorageBitWidth : element.getIntOrFloatBitWidth();
}

/// Computes the range of each value once, as an expression may use it many times. A value that takes too many steps may be anything.
class Ranges {
public:
  ConstantIntRanges of(Value value) {
    if (auto found = cache.find(value); found != cache.end())
      return found->second;
    if (depth == 100)
      return ConstantIntRanges::maxRange(widthOf(value));
    ++depth;
    ConstantIntRanges range = compute(value);
    --depth;
    cache.try_emplace(value, range);
    return range;
  }

private:
  static ConstantIntRanges positions(Value value, int64_t first) {
    unsigned width = widthOf(value);
    return ConstantIntRanges::fromSigned(APInt(width, first, true), APInt(width, INT32_MAX));
  }

  ConstantIntRanges compute(Value value) {
    auto anything = ConstantIntRanges::maxRange(widthOf(value));
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (auto map = dyn_cast_or_null<mlir::xf::MapOp>(argument.getOwner()->getParentOp()))
        return of(map.getInputs()[argument.getArgNumber()]);
      // Indices are the positions of a mask, bias or table. The inputs of an unfinished map may be anything.
      return value.getType().isIndex() ? positions(value, 0) : anything;
    }
    Operation *op = value.getDefiningOp();
    if (auto map = dyn_cast<mlir::xf::MapOp>(op))
      return of(map.getBody().front().getTerminator()->getOperand(cast<OpResult>(value).getResultNumber()));
    if (auto positionsOp = dyn_cast<mlir::xf::PositionsOp>(op))
      return positions(value, positionsOp.getOffset());
    if (isa<mlir::xf::RearrangeOp, mlir::xf::SliceOp>(op))
      return of(op->getOperand(0));
    auto inferable = dyn_cast<InferIntRangeInterface>(op);
    if (!inferable || isa<RankedTensorType>(value.getType()))
      return anything;
    SmallVector<ConstantIntRanges> operands;
    for (Value operand : op->getOperands()) {
      if (!operand.getType().isIntOrIndex())
        return anything;
      operands.push_back(of(operand));
    }
    ConstantIntRanges result = anything;
    inferable.inferResultRanges(operands, [&](Value, const ConstantIntRanges &range) { result = range; });
    return result;
  }

  DenseMap<Value, ConstantIntRanges> cache;
  unsigned depth = 0;
};

} // namespace

bool isInBounds(Value index, int64_t size) {
  ConstantIntRanges range = Ranges().of(index);
  return range.smin().isNonNegative() && range.smax().slt(size);
}

bool isNonNegative(Value index) { return Ranges().of(index).smin().isNonNegative(); }

} // namespace xf::frontend
