// Causality of the ops that treat each target position by itself, or all before it in order.
#include "dialect/IR/Producers.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::xf;

#include "dialect/IR/XfInterfaces.cpp.inc"

static std::optional<unsigned> findDim(Type type, StringRef name) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  for (unsigned i = 0; tensor && i < tensor.getRank(); ++i)
    if (getDimName(tensor, i) == name)
      return i;
  return std::nullopt;
}

std::optional<unsigned> CausalityQuery::axis(Value value) const { return findDim(value.getType(), target); }
std::optional<unsigned> StepBuilder::axis(Type type) const { return findDim(type, target); }
bool StepBuilder::isPerRow(Type type) const { return axis(type) && !findDim(type, batch); }

Dependence CausalityQuery::join(Operation *op) const {
  Dependence dependence = Dependence::fixed;
  for (Value value : valuesRead(op))
    dependence = std::max(dependence, get(value));
  return dependence;
}

RankedTensorType StepBuilder::stepType(Type type) const {
  auto tensor = cast<RankedTensorType>(type);
  auto at = axis(tensor);
  if (!at)
    return tensor;
  bool perRow = isPerRow(tensor);
  tensor = withDim(tensor, *at, ShapedType::kDynamic, fresh);
  if (!perRow)
    return tensor;
  SmallVector<int64_t> sizes{ShapedType::kDynamic};
  SmallVector<StringRef> names{batch};
  llvm::append_range(sizes, tensor.getShape());
  llvm::append_range(names, getDimNames(tensor));
  return makeTensor(sizes, names, tensor.getElementType());
}

Operation *StepBuilder::clone(Operation *op) {
  IRMapping mapping;
  for (Value value : valuesRead(op))
    mapping.map(value, now(value));
  Operation *copy = builder.clone(*op, mapping);
  for (auto [old, fresh] : llvm::zip(op->getResults(), copy->getResults())) {
    if (axis(old.getType()))
      fresh.setType(stepType(old.getType()));
    bind(old, fresh);
  }
  return copy;
}

Dependence PositionsOp::getDependence(CausalityQuery &query) {
  // The positions of any other sequence are the same for all sentences.
  return query.axis(getResult()) ? Dependence::position : query.join(*this);
}

LogicalResult PositionsOp::buildStep(StepBuilder &step) {
  step.bind(getResult(), PositionsOp::create(step.builder, getLoc(), step.stepType(getType()), step.past, getOffset()));
  return success();
}

LogicalResult MapOp::buildStep(StepBuilder &step) {
  auto type = step.stepType(getShape());
  int64_t shift = step.isPerRow(getShape());
  SmallVector<Attribute> maps;
  for (auto [i, input] : llvm::enumerate(getInputs())) {
    SmallVector<int64_t> map;
    if (step.isPerRow(input.getType()))
      map.push_back(*findDim(type, step.batch));
    for (int64_t target : getMap(i))
      map.push_back(target == -1 ? -1 : target + shift);
    maps.push_back(step.builder.getDenseI64ArrayAttr(map));
  }
  cast<MapOp>(step.clone(*this)).setMapsAttr(step.builder.getArrayAttr(maps));
  return success();
}

Dependence ReduceOp::getDependence(CausalityQuery &query) {
  auto axis = query.axis(getX());
  if (!axis || *axis + 1 != cast<RankedTensorType>(getX().getType()).getRank())
    return query.join(*this);
  auto map = getX().getDefiningOp<MapOp>();
  bool isCount = map && map.getInputs().size() == 1 && map.getInputs()[0].getDefiningOp<PositionsOp>();
  return query.whole(*this, {isCount ? "this takes the number of target positions" : "this row statistic runs over all target positions"});
}

Dependence SliceOp::getDependence(CausalityQuery &query) {
  if (query.axis(getX()) != std::optional<unsigned>(getAxis()))
    return query.join(*this);
  return query.whole(*this, {"this slice takes fixed positions of the target"});
}

LogicalResult SliceOp::buildStep(StepBuilder &step) {
  cast<SliceOp>(step.clone(*this)).setAxis(getAxis() + step.isPerRow(getType()));
  return success();
}

LogicalResult ConcatOp::buildStep(StepBuilder &step) {
  cast<ConcatOp>(step.clone(*this)).setAxis(getAxis() + step.isPerRow(getType()));
  return success();
}

LogicalResult RearrangeOp::buildStep(StepBuilder &step) {
  auto copy = cast<RearrangeOp>(step.clone(*this));
  if (!step.isPerRow(getType()))
    return success();
  // An axis name that the pattern lacks.
  std::string axis = "rows";
  while (getPattern().contains(axis))
    axis += "_";
  auto [left, right] = getPattern().split("->");
  copy.setPattern((axis + " " + left.trim() + " -> " + axis + " " + right.trim()).str());
  return success();
}

Dependence ScanOp::getDependence(CausalityQuery &query) {
  Dependence dependence = query.join(*this);
  bool alongTarget = query.axis(getResult(0)) == std::optional<unsigned>(getAxis());
  if (!isPerPosition(dependence) || !alongTarget)
    return dependence;
  return getReverse() ? query.whole(*this, {"this scan begins at the last of the target positions"}) : Dependence::prefix;
}

LogicalResult ScanOp::buildStep(StepBuilder &step) {
  auto type = cast<RankedTensorType>(getResult(0).getType());
  auto now = step.stepType(type);
  int64_t axis = getAxis() + step.isPerRow(type);
  if (step.axis(type) != std::optional<unsigned>(getAxis())) {
    cast<ScanOp>(step.clone(*this)).setAxis(axis);
    return success();
  }
  SmallVector<int64_t> sizes(now.getShape());
  SmallVector<StringRef> names = getDimNames(now);
  sizes.erase(sizes.begin() + axis);
  names.erase(names.begin() + axis);
  if (names.empty() || names.front() != step.batch)
    return emitError("this scan's state in the derived step needs the batch before its other dimensions, but is over ") << describeShape(type);
  SmallVector<Attribute> states;
  Value layer;
  for (size_t i = 0; i < getInit().size(); ++i) {
    auto [name, index] = step.addState(*this, makeTensor(sizes, names, now.getElementType()), "scan");
    states.push_back(name);
    layer = index;
  }
  SmallVector<Value> inputs;
  for (Value input : getInputs())
    inputs.push_back(step.now(input));
  SmallVector<Type> types;
  for (Type result : getResultTypes())
    types.push_back(step.stepType(result));
  auto scan = ScanStepOp::create(step.builder, getLoc(), types, inputs, step.builder.getArrayAttr(states), layer, step.past, axis, getInit());
  IRMapping mapping;
  for (Value value : valuesRead(*this))
    mapping.map(value, step.now(value));
  getBody().cloneInto(&scan.getBody(), mapping);
  for (auto [old, fresh] : llvm::zip(getResults(), scan.getResults()))
    step.bind(old, fresh);
  return success();
}
