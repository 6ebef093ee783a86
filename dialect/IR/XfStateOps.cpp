// Verifiers of the ops on state.
#include "dialect/IR/Xf.h"

using namespace mlir;
using namespace mlir::xf;

/// The state that `op` names, or an error.
static FailureOr<StateOp> findState(Operation *op, SymbolTableCollection &symbols, FlatSymbolRefAttr name) {
  auto state = dyn_cast_or_null<StateOp>(symbols.lookupNearestSymbolFrom(op, name));
  if (!state)
    return op->emitOpError("refers to ") << name << ", which is no state";
  return state;
}

static LogicalResult checkType(Operation *op, StateOp state, Type type) {
  auto tensor = cast<RankedTensorType>(type), kept = state.getTensorType();
  if (tensor.getRank() != kept.getRank())
    return op->emitOpError("has another rank than its state ") << kept;
  if (tensor.getElementType() != kept.getElementType())
    return op->emitOpError("has elements of ") << tensor.getElementType() << ", unlike its state " << kept;
  return success();
}

LogicalResult AppendOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto state = findState(*this, symbols, getNameAttr());
  if (failed(state))
    return failure();
  if (state->getSentences())
    return emitOpError("appends to a state of sentences");
  if (failed(checkType(*this, *state, getX().getType())))
    return failure();
  return checkType(*this, *state, getResult().getType());
}

LogicalResult StoreOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto state = findState(*this, symbols, getNameAttr());
  if (failed(state))
    return failure();
  if (!state->getSentences())
    return emitOpError("stores into a state of search rows");
  return checkType(*this, *state, getX().getType());
}

LogicalResult StoreOp::verify() {
  if (!getPadding())
    return success();
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

LogicalResult ScanStepOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (getStates().size() != getInit().size())
    return emitOpError("needs one state tensor for each of its ") << getInit().size() << " states";
  for (auto name : getStates().getAsRange<FlatSymbolRefAttr>())
    if (failed(findState(*this, symbols, name)))
      return failure();
  return success();
}
