// Ops on state. State is held as Tensor (f64 or integers), whatever the machine's precision.
#include "compiler/Reference/Machine.h"

#include "llvm/ADT/STLExtras.h"

namespace xf {

/// Grows `tensor` to at least `shape` in each dimension; new elements are zero.
static void grow(Tensor &tensor, Tensor::Kind kind, llvm::ArrayRef<int64_t> shape) {
  bool isFloat = kind == Tensor::Kind::Float;
  std::vector<int64_t> newShape(shape);
  if (tensor.shape.size() == shape.size())
    for (auto [size, old] : llvm::zip(newShape, tensor.shape))
      size = std::max(size, old);
  if (newShape == tensor.shape)
    return;
  Tensor grown{kind, newShape, {}, {}};
  isFloat ? grown.floats.resize(grown.size()) : grown.ints.resize(grown.size());
  if (tensor.shape.size() == shape.size()) {
    Odometer at(tensor.shape, {stridesOf(newShape)});
    for (int64_t i = 0, n = tensor.size(); i < n; ++i, at.next()) {
      if (isFloat)
        grown.floats[at.offset(0)] = tensor.floats[i];
      else
        grown.ints[at.offset(0)] = tensor.ints[i];
    }
  }
  tensor = std::move(grown);
}

static Tensor::Kind kindOf(mlir::Type type) {
  mlir::Type element = llvm::cast<mlir::RankedTensorType>(type).getElementType();
  return llvm::isa<mlir::FloatType>(element) ? Tensor::Kind::Float : element.isInteger(1) ? Tensor::Kind::Bool : Tensor::Kind::Int;
}

template <typename T>
static void toState(Tensor &tensor, int64_t to, const Array<T> &array, int64_t from) {
  if (array.isFloat)
    tensor.floats[to] = array.floats[from];
  else
    tensor.ints[to] = array.ints[from];
}

template <typename T>
static void fromState(Array<T> &array, int64_t to, const Tensor &tensor, int64_t from) {
  if (array.isFloat)
    array.floats[to] = static_cast<T>(tensor.floats[from]);
  else
    array.ints[to] = tensor.ints[from];
}

template <typename T>
llvm::Expected<State::Slot *> Machine<T>::findSlot(llvm::StringRef name, mlir::Value layer) {
  if (!state)
    return makeError("needs a state, but the entry was called without");
  auto index = scalar(layer);
  if (!index)
    return index.takeError();
  return &state->slots[{name.str(), *index}];
}

template <typename T>
llvm::Error Machine<T>::exec(mlir::xf::AppendOp op) {
  auto slot = findSlot(op.getName(), op.getLayer());
  if (!slot)
    return slot.takeError();
  const Array<T> &x = get(op.getX()), &past = get(op.getPast());
  Tensor &tensor = (*slot)->tensor;
  int64_t axis = op.getAxis(), maxPast = 0;
  for (int64_t count : past.ints)
    maxPast = std::max(maxPast, count);
  llvm::SmallVector<int64_t> shape(x.shape);
  shape[axis] += maxPast;
  grow(tensor, kindOf(op.getX().getType()), shape);
  llvm::SmallVector<int64_t> strides = stridesOf(tensor.shape);
  Odometer at(x.shape, {strides});
  for (int64_t i = 0, n = x.size(); i < n; ++i, at.next())
    toState(tensor, at.offset(0) + past.ints[at.getIndex()[0]] * strides[axis], x, i);
  auto result = std::make_shared<Array<T>>(shape, x.isFloat);
  Odometer all(shape, {strides});
  for (int64_t i = 0, n = result->size(); i < n; ++i, all.next())
    fromState(*result, i, tensor, all.offset(0));
  return define(op.getResult(), std::move(result));
}

template <typename T>
llvm::Error Machine<T>::exec(mlir::xf::StoreOp op) {
  auto found = findSlot(op.getName(), op.getLayer());
  if (!found)
    return found.takeError();
  State::Slot &slot = **found;
  slot.sentences = true;
  if (auto padding = llvm::dyn_cast_or_null<mlir::IntegerAttr>(op.getPaddingAttr()))
    slot.padding = padding.getType().isInteger(1) ? padding.getValue().getZExtValue() : padding.getInt();
  Ref<T> rows = values.find(op.getX())->second;
  const Array<T> &slots = get(op.getSlots()), *spans = op.getSpans() ? &get(op.getSpans()) : nullptr;
  if (spans) {
    int64_t maxLength = 0;
    for (int64_t b = 0; b < spans->shape[0]; ++b)
      maxLength = std::max(maxLength, spans->ints[2 * b + 1]);
    auto all = spread(*rows, *spans, 2, maxLength);
    if (!all)
      return all.takeError();
    rows = std::move(*all);
  }
  const Array<T> &x = *rows;
  llvm::SmallVector<int64_t> shape(x.shape);
  for (int64_t s : slots.ints)
    shape[0] = std::max(shape[0], s + 1);
  grow(slot.tensor, kindOf(op.getX().getType()), shape);
  slot.extents.resize(slot.tensor.shape[0]);
  llvm::SmallVector<int64_t> strides = stridesOf(slot.tensor.shape);
  for (auto [b, s] : llvm::enumerate(slots.ints)) {
    slot.extents[s].assign(x.shape.begin(), x.shape.end());
    if (spans)
      slot.extents[s][2] = spans->ints[2 * b + 1];
    if (x.isFloat)
      std::fill_n(slot.tensor.floats.begin() + s * strides[0], strides[0], 0);
    else
      std::fill_n(slot.tensor.ints.begin() + s * strides[0], strides[0], 0);
  }
  Odometer at(x.shape, {strides});
  for (int64_t i = 0, n = x.size(); i < n; ++i, at.next()) {
    int64_t b = at.getIndex()[0];
    toState(slot.tensor, at.offset(0) + (slots.ints[b] - b) * strides[0], x, i);
  }
  return llvm::Error::success();
}

template <typename T>
llvm::Error Machine<T>::exec(mlir::xf::LoadOp op) {
  auto found = findSlot(op.getName(), op.getLayer());
  if (!found)
    return found.takeError();
  const State::Slot &slot = **found;
  const Array<T> &slots = get(op.getSlots());
  auto type = op.getResult().getType();
  llvm::SmallVector<int64_t> shape(type.getShape());
  shape[0] = slots.size();
  for (int64_t s : slots.ints)
    if (s < 0 || s >= static_cast<int64_t>(slot.extents.size()) || slot.extents[s].empty())
      return makeError("nothing was stored in slot {} of @{}", s, op.getName().str());
  for (unsigned d = 1; d < shape.size(); ++d) {
    if (!type.isDynamicDim(d))
      continue;
    // As long as the longest of the sentences, unless the dimension's size is known already.
    shape[d] = 0;
    for (int64_t s : slots.ints)
      shape[d] = std::max(shape[d], slot.extents[s][d]);
    if (auto it = dims.find(mlir::xf::getDimName(type, d)); it != dims.end())
      shape[d] = it->second.size;
    if (shape[d] > slot.tensor.shape[d])
      return makeError("@{} holds {} along dimension {}, but {} are needed", op.getName().str(), slot.tensor.shape[d],
                       mlir::xf::getDimName(type, d).str(), shape[d]);
  }
  auto result = std::make_shared<Array<T>>(shape, llvm::isa<mlir::FloatType>(type.getElementType()));
  llvm::SmallVector<int64_t> strides = stridesOf(slot.tensor.shape);
  Odometer at(shape, {strides});
  for (int64_t i = 0, n = result->size(); i < n; ++i, at.next()) {
    int64_t b = at.getIndex()[0];
    // Positions after a sentence's own end read as if it had been padded.
    if (slot.padding && shape.size() == 2 && at.getIndex()[1] >= slot.extents[slots.ints[b]][1])
      result->ints[i] = *slot.padding;
    else
      fromState(*result, i, slot.tensor, at.offset(0) + (slots.ints[b] - b) * strides[0]);
  }
  return define(op.getResult(), std::move(result));
}

template <typename T>
llvm::Error Machine<T>::exec(mlir::xf::ScanStepOp op) {
  std::vector<const Array<T> *> inputs = getAll(op.getInputs());
  auto results = makeResults(op->getResults());
  if (!results)
    return results.takeError();
  const Array<T> &past = get(op.getPast());
  llvm::SmallVector<int64_t> shape(results->pointers.front()->shape);
  shape.erase(shape.begin() + op.getAxis());
  int64_t row = 1;
  for (int64_t size : llvm::ArrayRef(shape).drop_front())
    row *= size;
  std::vector<std::vector<T>> states;
  std::vector<Tensor *> tensors;
  for (auto [name, init] : llvm::zip(op.getStates().getAsRange<mlir::FlatSymbolRefAttr>(), op.getInit())) {
    auto slot = findSlot(name.getValue(), op.getLayer());
    if (!slot)
      return slot.takeError();
    Tensor &tensor = (*slot)->tensor;
    grow(tensor, Tensor::Kind::Float, shape);
    std::vector<T> values(tensor.floats.begin(), tensor.floats.begin() + shape[0] * row);
    for (int64_t b = 0; b < shape[0]; ++b)
      if (past.ints[b] == 0)
        std::fill_n(values.begin() + b * row, row, static_cast<T>(init));
    states.push_back(std::move(values));
    tensors.push_back(&tensor);
  }
  if (llvm::Error error = scan(op.getBody().front(), inputs, op.getAxis(), /*isReversed=*/false, states, results->pointers))
    return error;
  for (auto [tensor, values] : llvm::zip(tensors, states))
    std::copy(values.begin(), values.end(), tensor->floats.begin());
  return define(op->getResults(), *results);
}

template class Machine<float>;
template class Machine<double>;

} // namespace xf
