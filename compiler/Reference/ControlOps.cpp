// Parameters, weights and stacks of layers.
#include "compiler/Reference/Machine.h"

#include "llvm/ADT/bit.h"

namespace xf {

/// The bytes of widened parameters that are kept: enough for small models, a bound for large ones.
static constexpr int64_t maxParameterBytes = int64_t(256) << 20;

template <typename T>
llvm::Error Machine<T>::exec(mlir::xf::ParamOp op) {
  std::vector<int64_t> indices;
  for (mlir::Value index : op.getIndices()) {
    auto value = scalar(index);
    if (!value)
      return value.takeError();
    indices.push_back(*value);
  }
  std::string key = op.getName().str() + formatShape(indices);
  if (auto it = parameters.find(key); it != parameters.end())
    return define(op.getResult(), it->second);

  mlir::Operation *target = symbols.lookup(op.getName());
  Ref<T> result;
  if (auto parameter = llvm::dyn_cast_or_null<mlir::xf::ParameterOp>(target)) {
    for (auto [index, count] : llvm::zip(indices, parameter.getCounts()))
      if (index < 0 || index >= count)
        return makeError("index {} of @{} is not below {}", index, op.getName().str(), count);
    auto array = std::make_shared<Array<T>>(parameter.getTensorType().getShape(), true);
    constexpr int64_t pieceElements = 1 << 16;
    std::vector<float> piece(std::min(array->size(), pieceElements));
    for (int64_t first = 0; first < array->size(); first += pieceElements) {
      auto floats = llvm::MutableArrayRef(piece).take_front(array->size() - first);
      if (llvm::Error error = source.read(parameter, indices, first, floats))
        return error;
      llvm::copy(floats, array->floats.begin() + first);
    }
    result = std::move(array);
  } else if (auto weight = llvm::dyn_cast_or_null<mlir::xf::WeightOp>(target)) {
    auto array = evaluate(weight, indices.empty() ? 0 : indices.front());
    if (!array)
      return array.takeError();
    result = std::move(*array);
  } else {
    return makeError("there is no parameter @{}", op.getName().str());
  }
  int64_t bytes = result->size() * sizeof(T);
  if (parameterBytes + bytes <= maxParameterBytes) {
    parameterBytes += bytes;
    parameters[key] = result;
  }
  return define(op.getResult(), std::move(result));
}

/// Whether a weight's region only moves elements, or rounds them as f32 arithmetic has it.
static bool onlyMoves(mlir::xf::WeightOp weight) {
  return llvm::all_of(weight.getBody().front().without_terminator(), [](mlir::Operation &op) {
    return llvm::isa<mlir::xf::ParamOp, mlir::xf::QuantizeOp, mlir::xf::RearrangeOp, mlir::xf::SliceOp, mlir::xf::ConcatOp, mlir::xf::PackOp>(op) ||
           op.hasTrait<mlir::OpTrait::ConstantLike>() || llvm::all_of(op.getResultTypes(), [](mlir::Type t) { return t.isIndex(); });
  });
}

/// A weight in this precision. What f32 programs hold is computed in f64 and rounded once.
template <typename T>
llvm::Expected<Ref<T>> Machine<T>::evaluate(mlir::xf::WeightOp weight, int64_t layer) {
  if (layer < 0 || layer >= static_cast<int64_t>(weight.getLayers()))
    return makeError("layer {} of @{} is not below {}", layer, weight.getSymName().str(), weight.getLayers());
  if constexpr (precision == Precision::F32)
    if (!onlyMoves(weight)) {
      if (!exact)
        exact = std::make_unique<Machine<double>>(module, source);
      auto value = exact->evaluateAlone(weight, layer);
      if (!value)
        return value.takeError();
      auto result = std::make_shared<Array<T>>(weight.getTensorType().getShape(), (*value)->isFloat);
      llvm::transform((*value)->floats, result->floats.begin(), [](double value) { return static_cast<float>(value); });
      result->ints = (*value)->ints;
      return Ref<T>(std::move(result));
    }
  mlir::Block &body = weight.getBody().front();
  scalars[body.getArgument(0)] = layer;
  if (llvm::Error error = execute(body))
    return makeError("weight @{}: {}", weight.getSymName().str(), llvm::toString(std::move(error)));
  Ref<T> result = values.find(body.getTerminator()->getOperand(0))->second;
  for (mlir::Operation &op : body)
    for (mlir::Value value : op.getResults())
      values.erase(value);
  return result;
}

template <typename T>
llvm::Expected<Ref<T>> Machine<T>::evaluateAlone(mlir::xf::WeightOp weight, int64_t layer) {
  auto result = evaluate(weight, layer);
  // What is kept for an entry would only take memory here.
  parameters.clear();
  parameterBytes = 0;
  dims.clear();
  return result;
}

template <typename T>
llvm::Error Machine<T>::evaluateWeight(mlir::xf::WeightOp weight, int64_t layer, llvm::MutableArrayRef<float> out) {
  auto result = evaluateAlone(weight, layer);
  if (!result)
    return result.takeError();
  if ((*result)->isFloat)
    llvm::transform((*result)->floats, out.begin(), [](T value) { return static_cast<float>(value); });
  else if (mlir::cast<mlir::RankedTensorType>(weight.getType()).getElementType().isInteger(32))
    llvm::transform((*result)->ints, out.begin(), [](int64_t value) { return llvm::bit_cast<float>(static_cast<int32_t>(value)); });
  else
    llvm::transform((*result)->ints, out.begin(), [](int64_t value) { return static_cast<float>(value); });
  return llvm::Error::success();
}

template <typename T>
llvm::Error Machine<T>::exec(mlir::xf::RepeatOp op) {
  mlir::Block &body = op.getBody().front();
  std::vector<Ref<T>> carried;
  for (mlir::Value init : op.getInits())
    carried.push_back(values.find(init)->second);
  for (int64_t layer = 0, count = op.getCount(); layer < count; ++layer) {
    scalars[op.getLayer()] = layer;
    for (auto [arg, value] : llvm::zip(op.getCarried(), carried))
      if (llvm::Error error = define(arg, value))
        return error;
    if (llvm::Error error = execute(body))
      return error;
    carried.clear();
    for (mlir::Value value : body.getTerminator()->getOperands().take_front(op.getInits().size()))
      carried.push_back(values.find(value)->second);
  }
  for (auto [result, value] : llvm::zip(op.getResults(), body.getTerminator()->getOperands()))
    if (llvm::Error error = define(result, values.find(value)->second))
      return error;
  return llvm::Error::success();
}

template class Machine<float>;
template class Machine<double>;

} // namespace xf
