// Verifiers of the ops on state.
#include "dialect/IR/Verify.h"
#include "dialect/IR/Xf.h"

using namespace mlir;
using namespace mlir::xf;

LogicalResult StateOp::verify() {
  auto type = dyn_cast<RankedTensorType>(getType());
  if (!isValueType(getType()) || type.getRank() == 0 || !type.isDynamicDim(0))
    return emitOpError("needs a tensor over search rows or sentences, not ") << getType();
  if (static_cast<int64_t>(getLayers()) < 1)
    return emitOpError("needs at least one layer");
  if (getLayout() == Layout::plain)
    return success();
  if (getLayout() == Layout::panels || !isPackable(type) || type.isDynamicDim(1))
    return emitOpError("is plain, or keys or values [batch, heads, positions, width] of f32, bf16 or f16, not ")
           << stringifyLayout(getLayout()) << " of " << type;
  return success();
}

/// `integers`, which messages call `what`, has one i32 for each row of dimension `axis` of `type`.
static LogicalResult verifyRowIntegers(Operation *op, StringRef what, Value integers, RankedTensorType type, unsigned axis) {
  auto actual = typeOf(integers);
  if (actual.getRank() == 1 && actual.getElementType().isInteger(32) && axis < type.getRank() && sameDim(actual, 0, type, axis))
    return success();
  return op->emitOpError("needs ") << what << " as one i32 for each row of " << describeShape(type) << ", not " << actual;
}

/// The state that `op` names, or an error.
static FailureOr<StateOp> findState(Operation *op, SymbolTableCollection &symbols, FlatSymbolRefAttr name) {
  auto state = dyn_cast_or_null<StateOp>(symbols.lookupNearestSymbolFrom(op, name));
  if (!state)
    return op->emitOpError("refers to ") << name << ", which is no state";
  return state;
}

/// `type` is the state's; `isPart`: its sizes may differ.
static LogicalResult checkType(Operation *op, StateOp state, Type type, bool isPart = false) {
  // The state itself may not have been verified yet.
  auto tensor = cast<RankedTensorType>(type), stateType = dyn_cast<RankedTensorType>(state.getType());
  if (!stateType)
    return op->emitOpError("refers to a state that is no tensor");
  if (tensor.getRank() != stateType.getRank())
    return op->emitOpError("has another rank than its state ") << stateType;
  if (tensor.getElementType() != stateType.getElementType())
    return op->emitOpError("has elements of ") << tensor.getElementType() << ", unlike its state " << stateType;
  if (tensor != stateType && !isPart)
    return op->emitOpError("has the shape ") << describeShape(tensor) << ", unlike its state " << stateType;
  return success();
}

LogicalResult AppendOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto state = findState(*this, symbols, getNameAttr());
  if (failed(state))
    return failure();
  if (state->getSentences())
    return emitOpError("appends to a state of sentences");
  return failed(checkType(*this, *state, getX().getType(), /*isPart=*/true)) ? failure() : checkType(*this, *state, getResult().getType());
}

LogicalResult AppendOp::verify() {
  auto x = typeOf(getX()), all = typeOf(getResult());
  int64_t axis = getAxis();
  if (failed(verifyAxis(*this, axis, all)))
    return failure();
  if (axis == 0 || !all.isDynamicDim(axis))
    return emitOpError("grows a dynamic dimension behind the rows, not dimension ") << axis << " of " << describeShape(all);
  if (x.getRank() != all.getRank() || withElement(withDim(x, axis, ShapedType::kDynamic, getDimName(all, axis)), all.getElementType()) != all)
    return emitOpError("appends ") << describeShape(x) << " along dimension " << axis << " to " << describeShape(all);
  return verifyRowIntegers(*this, "past", getPast(), x, 0);
}

bool AppendOp::canBeByReader() {
  if (!getResult().hasOneUse())
    return false;
  OpOperand &use = *getResult().use_begin();
  auto attend = dyn_cast<AttendOp>(use.getOwner());
  auto state = SymbolTable::lookupNearestSymbolFrom<StateOp>(*this, getNameAttr());
  if (!attend || attend->getBlock() != (*this)->getBlock() || attend.getSpans() || !state)
    return false;
  auto q = typeOf(attend.getQ()), x = typeOf(getX());
  bool isKeys = use.getOperandNumber() == 1 && state.getLayout() == Layout::keys;
  bool isValues = use.getOperandNumber() == 2 && state.getLayout() == Layout::values;
  bool isRow = !getX().getDefiningOp<LoadOp>(); // not a sentence's, which would be read by its slot
  return isRow && (isKeys || isValues) && getAxis() == 2 && sameDim(q, 1, x, 1) && sameDim(q, 2, x, 2);
}

LogicalResult StoreOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto state = findState(*this, symbols, getNameAttr());
  if (failed(state))
    return failure();
  if (!state->getSentences())
    return emitOpError("stores into a state of search rows");
  if (!getSpans())
    return checkType(*this, *state, getX().getType());
  if (failed(checkType(*this, *state, getX().getType(), /*isPart=*/true)))
    return failure();
  if (state->getLayout() == Layout::plain)
    return emitOpError("stores spans as keys or values only");
  return verifySpans(*this, getSpans(), typeOf(getX()), state->getTensorType(), 2);
}

LogicalResult StoreOp::verify() {
  if (failed(verifyRowIntegers(*this, "slots", getSlots(), typeOf(getSpans() ? getSpans() : getX()), 0)))
    return failure();
  if (!getPadding())
    return success();
  if (getSpans())
    return emitOpError("cannot pad spans");
  auto type = cast<RankedTensorType>(getX().getType());
  if (getPadding()->getType() != type.getElementType())
    return emitOpError("pads with a ") << getPadding()->getType() << " what is made of " << type.getElementType();
  if (type.getRank() != 2)
    return emitOpError("pads tensors of rank 2 only, not ") << describeShape(type);
  return success();
}

LogicalResult LoadOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto state = findState(*this, symbols, getNameAttr());
  if (failed(state))
    return failure();
  if (!state->getSentences())
    return emitOpError("loads from a state of search rows");
  return checkType(*this, *state, getResult().getType());
}

LogicalResult LoadOp::verify() { return verifyRowIntegers(*this, "slots", getSlots(), typeOf(getResult()), 0); }

LogicalResult ScanStepOp::verify() {
  if (failed(verifyScanBody(*this, getBody(), getInputs(), getAxis(), getInit().size())))
    return failure();
  return verifyRowIntegers(*this, "past", getPast(), typeOf(getResult(0)), getAxis() == 0 ? 1 : 0);
}

LogicalResult ScanStepOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (getStates().size() != getInit().size())
    return emitOpError("needs one state tensor for each of its ") << getInit().size() << " states";
  // A state is the inputs' shape without the axis.
  auto type = typeOf(getResult(0));
  SmallVector<int64_t> sizes(type.getShape());
  SmallVector<StringRef> names = getDimNames(type);
  sizes.erase(sizes.begin() + getAxis());
  names.erase(names.begin() + getAxis());
  auto expected = makeTensor(sizes, names, Float32Type::get(getContext()));
  for (auto name : getStates().getAsRange<FlatSymbolRefAttr>()) {
    auto state = findState(*this, symbols, name);
    if (failed(state))
      return failure();
    if (state->getSentences() || state->getLayout() != Layout::plain || state->getType() != expected)
      return emitOpError("needs states of search rows ") << expected << ", not " << name << " of " << state->getType();
  }
  return success();
}
