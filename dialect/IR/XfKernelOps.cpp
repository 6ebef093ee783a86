// Verifiers of the kernel ops, and the generated definitions of all ops.
#include "dialect/IR/Verify.h"
#include "dialect/IR/Xf.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::xf;

LogicalResult WeightOp::verify() {
  auto type = dyn_cast<RankedTensorType>(getType());
  if (!isValueType(getType()) || !type.hasStaticShape())
    return emitOpError("needs a static tensor, not ") << getType();
  if (static_cast<int64_t>(getLayers()) < 1)
    return emitOpError("needs at least one layer");
  if (getLayout() != Layout::plain && (getLayout() != Layout::panels || type.getRank() != 2))
    return emitOpError("is a plain tensor or panels of a matrix, not ") << stringifyLayout(getLayout()) << " of " << describeShape(type);
  if (getScales() && (type.getRank() != 2 || !type.getElementType().isInteger(8)))
    return emitOpError("has scales, but is no matrix of i8: ") << type;
  return verifyBody(*this, getBody(), IndexType::get(getContext()), type);
}

LogicalResult WeightOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!getScales())
    return success();
  auto scales = dyn_cast_or_null<WeightOp>(symbols.lookupNearestSymbolFrom(*this, getScalesAttr()));
  auto expected = RankedTensorType::get(cast<RankedTensorType>(getType()).getDimSize(0), Float32Type::get(getContext()));
  if (!scales || scales.getType() != expected || scales.getLayers() != getLayers() || scales.getLayout() != Layout::plain)
    return emitOpError("its scales ") << getScalesAttr() << " must be a plain weight " << expected << " of as many layers";
  return success();
}

LogicalResult PackOp::verify() {
  auto type = typeOf(getX());
  if (getLayout() == Layout::plain)
    return success();
  if (getLayout() == Layout::panels)
    return emitOpError("packs keys and values; panels are made when compiling");
  if (!isPackable(type))
    return emitOpError("packs [batch, heads, positions, width] of f32, bf16 or f16, not ") << type;
  return success();
}

LogicalResult SpreadOp::verify() {
  auto rows = typeOf(getResult());
  bool isPlain = getLayout() == Layout::plain && rows.getRank() == 3 && !rows.isDynamicDim(2);
  if (!isPlain && (getLayout() == Layout::plain || getLayout() == Layout::panels || !isPackable(rows)))
    return emitOpError("gives plain rows [batch, positions, width], or keys or values [batch, heads, positions, width] of f32, bf16 or f16, not ")
           << rows;
  return verifySpans(*this, getSpans(), typeOf(getX()), rows, getAxis());
}

LogicalResult ContractOp::verify() {
  if (failed(verifyProduct(*this, typeOf(getX()), typeOf(getWeight()), typeOf(getResult()))) ||
      failed(verifyIndexMaps(*this, getExtras(), getMaps(), typeOf(getResult()))))
    return failure();
  SmallVector<Type> args{productElement(typeOf(getX()).getElementType())};
  llvm::append_range(args, elementTypes(getExtras().getTypes()));
  return verifyScalarBody(*this, getBody(), args, elementTypes(getResult().getType()));
}

RankedTensorType ChooseOp::getLogitsType() {
  auto x = typeOf(getX());
  return withDim(withElement(x, Float32Type::get(getContext())), x.getRank() - 1, getColumns(), "");
}

/// Whether the op's result grows, or stays the same, when only its operand `i` grows; in floating point, too.
static bool growsWith(Operation *op, unsigned i) {
  if (isa<arith::AddFOp, arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp>(op) || (isa<arith::SubFOp>(op) && i == 0))
    return true;
  APFloat factor(0.0f);
  if (isa<arith::MulFOp>(op) || (isa<arith::DivFOp>(op) && i == 0))
    return matchPattern(op->getOperand(1 - i), m_ConstantFloat(&factor)) && factor.isFiniteNonZero() && !factor.isNegative();
  return false;
}

/// Calls `see` for each op between a product and its logit, with the operand that the product is in. Returns whether it is true of all, and the
/// product is nowhere else.
static bool isTrueOfAll(ChooseOp op, llvm::function_ref<bool(Operation *, unsigned)> see) {
  Value value = op.getBody().getArgument(0);
  while (value.hasOneUse()) {
    OpOperand &use = *value.use_begin();
    if (isa<YieldOp>(use.getOwner()))
      return true;
    if (!see(use.getOwner(), use.getOperandNumber()))
      return false;
    value = use.getOwner()->getResult(0);
  }
  return false;
}

bool ChooseOp::isMonotone() {
  bool isRounded = false;
  return isTrueOfAll(*this, [&](Operation *op, unsigned i) {
    isRounded |= isa<math::TanhOp>(op);
    // Of what is left of a difference, a function's rounding may be any part.
    return isa<math::TanhOp>(op) || (growsWith(op, i) && !(isRounded && isa<arith::AddFOp, arith::SubFOp>(op)));
  });
}

bool ChooseOp::isRounded() {
  return !isTrueOfAll(*this, [](Operation *op, unsigned) { return !isa<math::TanhOp>(op); });
}

int64_t ChooseOp::getPartsWidth() {
  int64_t parts = countParts(getColumns(), getMaxChosen());
  bool withInt16 = !getWords().empty();
  return getScreen().empty() && !withInt16 ? parts : parts + countScreened(getColumns(), typeOf(getWeight()).getDimSize(1), withInt16);
}

/// Whether a value has `columns` for each row of x.
static bool belongsToRows(ChooseOp op, Value value, ArrayRef<int64_t> columns, Type element) {
  auto type = typeOf(value);
  return type.getRank() == int64_t(1 + columns.size()) && sameDim(type, 0, typeOf(op.getX()), 1 - op.getAxis()) &&
         type.getShape().drop_front() == columns && type.getElementType() == element;
}

static LogicalResult verifyResults(ChooseOp op) {
  Builder b(op.getContext());
  auto values = typeOf(op.getValues()), tokens = typeOf(op.getTokens()), norms = typeOf(op.getNorms()), parts = typeOf(op.getParts());
  int64_t maxChosen = values.getRank() == 2 ? values.getDimSize(1) : 0;
  if (maxChosen < 1 || !belongsToRows(op, op.getValues(), {maxChosen}, b.getF32Type()) ||
      !belongsToRows(op, op.getTokens(), {maxChosen}, b.getI32Type()) || !belongsToRows(op, op.getNorms(), {2}, b.getF32Type()) ||
      !belongsToRows(op, op.getParts(), {op.getPartsWidth()}, b.getF32Type()))
    return op.emitOpError("results ") << describeShape(values) << ", " << describeShape(tokens) << ", " << describeShape(norms) << ", "
                                      << describeShape(parts) << " do not fit the rows of " << describeShape(typeOf(op.getX()));
  return success();
}

static LogicalResult verifyRules(ChooseOp op) {
  Builder b(op.getContext());
  auto forbidden = typeOf(op.getForbidden()), options = typeOf(op.getOptions());
  if (forbidden.getRank() != 2 || forbidden.getDimSize(1) != ChooseOp::countWords(op.getColumns()) || !forbidden.getElementType().isInteger(32) ||
      !belongsToRows(op, op.getClasses(), {}, b.getI32Type()) || options != RankedTensorType::get({2}, b.getI32Type()))
    return op.emitOpError("forbidden columns ") << describeShape(forbidden) << ", classes " << describeShape(typeOf(op.getClasses()))
                                                << " and options " << describeShape(options) << " do not fit " << op.getColumns() << " columns";
  return success();
}

static LogicalResult verifyScreens(ChooseOp op) {
  Builder b(op.getContext());
  if (op.getScreen().empty() && op.getWords().empty())
    return success();
  auto weight = typeOf(op.getWeight());
  auto ofColumns = [&](Type type) { return RankedTensorType::get(op.getColumns(), type); };
  Type i32 = b.getI32Type(), f32 = b.getF32Type(), mean = RankedTensorType::get(weight.getDimSize(1), f32);
  Type int8Types[] = {withElement(weight, b.getI8Type()), ofColumns(f32), ofColumns(i32), ofColumns(f32), ofColumns(f32), mean};
  if (!op.getScreen().empty() && (op.getScreen().getTypes() != TypeRange(int8Types) || !op.isScreenable(weight)))
    return op.emitOpError("has no screen of ") << op.getScreen().getTypes() << " for " << weight;
  Type int16Types[] = {withElement(weight, b.getI16Type()), ofColumns(f32), ofColumns(f32), ofColumns(f32), mean};
  if (!op.getWords().empty() && (op.getWords().getTypes() != TypeRange(int16Types) || !op.isScreenable(weight)))
    return op.emitOpError("has no words of ") << op.getWords().getTypes() << " for " << weight;
  if (!op.isMonotone())
    return op.emitOpError("is screened, but a logit may decrease when its product grows");
  return success();
}

LogicalResult ChooseOp::verify() {
  auto x = typeOf(getX()), weight = typeOf(getWeight());
  if (weight.getRank() != 2 || x.getRank() != 3 || getAxis() > 1)
    return emitOpError("needs rows [batch, positions, width] or [positions, batch, width] and a weight of rank 2, not ")
           << describeShape(x) << " and " << describeShape(weight);
  auto logits = getLogitsType();
  if (failed(verifyProduct(*this, x, weight, logits)) || failed(verifyIndexMaps(*this, getExtras(), getMaps(), logits)))
    return failure();
  SmallVector<Type> args{productElement(x.getElementType())};
  llvm::append_range(args, elementTypes(getExtras().getTypes()));
  if (failed(verifyResults(*this)) || failed(verifyRules(*this)) || failed(verifyScalarBody(*this, getBody(), args, Float32Type::get(getContext()))))
    return failure();
  return verifyScreens(*this); // once the body is known to be good
}

/// The type of one row of `type` in a row op: its last dimension if `isFullRow`, else one element.
static RankedTensorType rowType(RankedTensorType type, bool isFullRow) {
  int64_t size = isFullRow ? type.getShape().back() : 1;
  return makeTensor({size}, {isFullRow ? getDimName(type, type.getRank() - 1) : StringRef()}, type.getElementType());
}

/// A row kernel's block holds what can be computed in passes over rows of one length.
static LogicalResult verifyRowOps(Block &block) {
  RankedTensorType row;
  auto isFit = [&](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type || type.getRank() != 1 || type.getDimSize(0) == 1)
      return type && type.getRank() == 1;
    row = row ? row : type;
    return sameDim(type, 0, row, 0);
  };
  for (Value argument : block.getArguments())
    if (!isFit(argument))
      return block.getParentOp()->emitOpError("its rows differ in length: ") << describeShape(row) << " and " << argument.getType();
  for (Operation &op : block.without_terminator()) {
    if (op.hasTrait<OpTrait::ConstantLike>() && !isa<ShapedType>(op.getResult(0).getType()))
      continue;
    if (!isa<MapOp, ReduceOp, EmbedOp>(op))
      return op.emitOpError("cannot stand in a row kernel");
    for (OpOperand &operand : op.getOpOperands())
      if ((operand.get().getParentBlock() == &block) == (isa<EmbedOp>(op) && operand.getOperandNumber() == 0))
        return op.emitOpError("reads rows of its kernel, and tables from outside");
    for (Value result : op.getResults())
      if (!isFit(result))
        return op.emitOpError("must give rows of the kernel's length or of 1, not ") << result.getType();
  }
  for (Value result : block.getTerminator()->getOperands())
    if (result.getParentBlock() != &block)
      return block.getParentOp()->emitOpError("gives rows that its body does not compute");
  return success();
}

LogicalResult RowOp::verify() {
  // The widest result gives the rows' length; a result of width 1 is a statistic of its row.
  if (getNumResults() == 0)
    return emitOpError("needs results");
  for (Value result : getResults())
    if (typeOf(result).getRank() == 0)
      return emitOpError("results need rows");
  auto shape = typeOf(getResult(0));
  unsigned last = shape.getRank() - 1;
  for (Value result : getResults())
    if (typeOf(result).getRank() == shape.getRank() && typeOf(result).getShape().back() != 1)
      shape = typeOf(result);
  if (getMaps().size() != getInputs().size())
    return emitOpError("has ") << getMaps().size() << " maps for " << getInputs().size() << " operands";
  SmallVector<Type> args, results;
  for (auto [i, input] : llvm::enumerate(getInputs())) {
    auto type = typeOf(input);
    if (static_cast<int64_t>(getMap(i).size()) != type.getRank())
      return emitOpError("map ") << i << " has another rank than its operand " << describeShape(type);
    for (auto [d, target] : llvm::enumerate(getMap(i))) {
      if (target < -1 || target > last)
        return emitOpError("map ") << i << " refers to dimension " << target << " of " << describeShape(shape);
      if (target == last && d + 1 != getMap(i).size())
        return emitOpError("map ") << i << " must end with the dimension along the rows";
      // Rows may be longer than a result that keeps a statistic only.
      if (target == -1 ? type.getDimSize(d) != 1 : target != last && !sameDim(type, d, shape, target))
        return emitOpError("operand ") << i << " of shape " << describeShape(type) << " does not fit " << describeShape(shape);
    }
    args.push_back(rowType(type, !getMap(i).empty() && getMap(i).back() == last));
  }
  for (Value result : getResults()) {
    auto type = typeOf(result);
    if (type.getRank() != shape.getRank())
      return emitOpError("results need one rank");
    for (unsigned d = 0; d < last; ++d)
      if (!sameDim(type, d, shape, d))
        return emitOpError("results ") << describeShape(type) << " and " << describeShape(shape) << " differ in their rows";
    results.push_back(rowType(type, true));
  }
  return failed(verifyBody(*this, getBody(), args, results)) ? failure() : verifyRowOps(getBody().front());
}

#define GET_OP_CLASSES
#include "dialect/IR/XfOps.cpp.inc"
