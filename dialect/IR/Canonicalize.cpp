// What model ops simplify to: views of views, maps that compute nothing, and attention whose bias is a mask.
#include "dialect/IR/Producers.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::xf;

OpFoldResult RearrangeOp::fold(FoldAdaptor) {
  if (getType() != getX().getType())
    return {};
  auto pattern = Rearrangement::parse(getPattern(), [&] { return emitOpError(); });
  return succeeded(pattern) && pattern->in == pattern->out ? OpFoldResult(getX()) : OpFoldResult();
}

OpFoldResult SliceOp::fold(FoldAdaptor) {
  return getType() == getX().getType() && getStart() == 0 && getStep() == 1 ? OpFoldResult(getX()) : OpFoldResult();
}

OpFoldResult ConcatOp::fold(FoldAdaptor) {
  return getInputs().size() == 1 && getInputs().front().getType() == getType() ? OpFoldResult(getInputs().front()) : OpFoldResult();
}

/// A map that yields its operands' elements unchanged, at the same indices, folds to those operands.
LogicalResult MapOp::fold(FoldAdaptor, SmallVectorImpl<OpFoldResult> &results) {
  auto *yield = getBody().front().getTerminator();
  for (auto [value, result] : llvm::zip(yield->getOperands(), getResults())) {
    auto arg = dyn_cast<BlockArgument>(value);
    if (!arg || arg.getOwner() != &getBody().front() || getInputs()[arg.getArgNumber()].getType() != result.getType())
      return failure();
    for (auto [d, target] : llvm::enumerate(getMap(arg.getArgNumber())))
      if (target != static_cast<int64_t>(d))
        return failure();
    results.push_back(getInputs()[arg.getArgNumber()]);
  }
  return success();
}

namespace {

/// A slice of a slice along the same axis is one slice. Along a dynamic dimension the inner slice stays: a call may give too few elements for it.
struct SliceOfSlice : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SliceOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getX().getDefiningOp<SliceOp>();
    if (!inner || inner.getAxis() != op.getAxis() || inner.getX().getType().isDynamicDim(op.getAxis()))
      return failure();
    rewriter.replaceOpWithNewOp<SliceOp>(op, op.getType(), inner.getX(), op.getAxis(), inner.getStart() + op.getStart() * inner.getStep(),
                                         inner.getStep() * op.getStep());
    return success();
  }
};

/// A slice of a concatenation that lies in one of its inputs is a slice of that input.
struct SliceOfConcat : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SliceOp op, PatternRewriter &rewriter) const override {
    auto concat = op.getX().getDefiningOp<ConcatOp>();
    if (!concat || concat.getAxis() != op.getAxis())
      return failure();
    int64_t first = op.getStart(), last = op.getLast(), begin = 0;
    for (Value input : concat.getInputs()) {
      int64_t end = begin + cast<RankedTensorType>(input.getType()).getDimSize(op.getAxis());
      if (begin <= first && last < end) {
        rewriter.replaceOpWithNewOp<SliceOp>(op, op.getType(), input, op.getAxis(), first - begin, op.getStep());
        return success();
      }
      begin = end;
    }
    return failure();
  }
};

bool isConstant(Value value, double expected) {
  FloatAttr constant;
  return matchPattern(value, m_Constant(&constant)) && constant.getValueAsDouble() == expected;
}
constexpr double kHidden = -std::numeric_limits<double>::infinity();

/// Whether a part of a bias is certainly finite, so that its sum with minus infinity is minus infinity. Parameters are finite.
bool isFinite(Value value) {
  return holdsForAll(value, [](Value part, llvm::SetVector<Value> &next) {
    FloatAttr constant;
    if (matchPattern(part, m_Constant(&constant)))
      return constant.getValue().isFinite();
    Operation *op = part.getDefiningOp();
    if (auto at = dyn_cast_or_null<AtOp>(op))
      return static_cast<bool>(at.getTensor().getDefiningOp<ParamOp>());
    if (isa_and_nonnull<arith::SelectOp>(op)) {
      next.insert(std::next(op->operand_begin()), op->operand_end());
      return true;
    }
    if (isa_and_nonnull<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::NegFOp>(op)) {
      next.insert(op->operand_begin(), op->operand_end());
      return true;
    }
    return isa_and_nonnull<arith::SIToFPOp, arith::UIToFPOp>(op);
  });
}

/// The select between minus infinity and something else, if `value` is one or the sum of one and finite parts.
arith::SelectOp findHiding(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto select = dyn_cast_or_null<arith::SelectOp>(op))
    return isConstant(select.getTrueValue(), kHidden) != isConstant(select.getFalseValue(), kHidden) ? select : arith::SelectOp();
  if (!isa_and_nonnull<arith::AddFOp>(op))
    return {};
  // What is finite hides nothing.
  bool first = isFinite(op->getOperand(0)), second = isFinite(op->getOperand(1));
  return first != second ? findHiding(op->getOperand(first ? 1 : 0)) : arith::SelectOp();
}

/// Copies the ops of one region of attention to the end of another block, before its terminator.
void cloneBody(Region &from, Block &to, IRMapping &mapping, PatternRewriter &rewriter) {
  mapping.map(from.getArguments(), to.getArguments());
  for (Operation &op : from.front().without_terminator())
    rewriter.clone(op, mapping);
}

/// A bias of minus infinity hides keys: that is a mask, which can bound loops and prove that a decoder does not look ahead.
struct HidingBias : OpRewritePattern<AttendOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AttendOp op, PatternRewriter &rewriter) const override {
    Region &bias = op.getBias(), &mask = op.getMask();
    // A masked score becomes `fill`, its bias included: with a finite fill the mask would bring back what the bias hides.
    if (bias.empty() || (!mask.empty() && op.getFill().convertToDouble() != kHidden))
      return failure();
    auto select = findHiding(bias.front().getTerminator()->getOperand(0));
    if (!select)
      return failure();
    bool hidesWhenTrue = isConstant(select.getTrueValue(), kHidden);
    Location loc = select.getLoc();
    if (mask.empty()) {
      SmallVector<Location> locs(4, loc);
      rewriter.createBlock(&mask, mask.end(), bias.getArgumentTypes(), locs);
      YieldOp::create(rewriter, loc, ValueRange(arith::ConstantOp::create(rewriter, loc, rewriter.getBoolAttr(true))));
    }
    auto *yield = mask.front().getTerminator();
    IRMapping mapping;
    rewriter.setInsertionPoint(yield);
    cloneBody(bias, mask.front(), mapping, rewriter);
    Value seen = mapping.lookup(select.getCondition());
    if (hidesWhenTrue)
      seen = arith::XOrIOp::create(rewriter, loc, seen, arith::ConstantOp::create(rewriter, loc, rewriter.getBoolAttr(true)));
    seen = arith::AndIOp::create(rewriter, loc, yield->getOperand(0), seen);
    rewriter.modifyOpInPlace(op, [&] {
      yield->setOperand(0, seen);
      op.setFillAttr(rewriter.getF64FloatAttr(kHidden));
    });
    rewriter.replaceOp(select, hidesWhenTrue ? select.getFalseValue() : select.getTrueValue());
    return success();
  }
};

/// Erases regions without effect: a mask that is always true, a bias of zero, a score that yields its argument.
struct IdleRegions : OpRewritePattern<AttendOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AttendOp op, PatternRewriter &rewriter) const override {
    auto idle = [&](Region &region, auto test) {
      if (region.empty() || !test(region.front().getTerminator()->getOperand(0)))
        return false;
      rewriter.modifyOpInPlace(op, [&] { rewriter.eraseBlock(&region.front()); });
      return true;
    };
    bool changed = idle(op.getMask(), [](Value value) { return matchPattern(value, m_One()); });
    changed |= idle(op.getBias(), [](Value value) { return isConstant(value, 0); });
    changed |= idle(op.getScore(), [&](Value value) { return value == op.getScore().getArgument(4); });
    return success(changed);
  }
};

} // namespace

bool AttendOp::mayHideAllKeys() {
  if (!getMask().empty())
    return getFill().convertToDouble() == kHidden;
  return !getBias().empty() && findHiding(getBias().front().getTerminator()->getOperand(0));
}

void SliceOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) { patterns.add<SliceOfSlice, SliceOfConcat>(context); }

void AttendOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) { patterns.add<HidingBias, IdleRegions>(context); }
