// Ops that only move elements, and positions.
#include "compiler/Reference/Machine.h"

namespace xf {

template <typename T>
llvm::Error Machine<T>::exec(mlir::xf::PositionsOp op) {
  auto result = makeResult(op.getResult());
  if (!result)
    return result.takeError();
  Array<T> &positions = **result;
  int64_t count = positions.shape.back(), offset = op.getOffset();
  for (int64_t i = 0; i < positions.size(); ++i)
    positions.ints[i] = i % count + offset + (op.getPast() ? get(op.getPast()).ints[i / count] : 0);
  return define(op.getResult(), std::move(*result));
}

template <typename T>
llvm::Error Machine<T>::checkSpans(const Array<T> &spans, int64_t tokens, int64_t maxLength) {
  for (int64_t b = 0; b < spans.shape[0]; ++b) {
    int64_t first = spans.ints[2 * b], length = spans.ints[2 * b + 1];
    if (first < 0 || length < 0 || length > maxLength || first > tokens - length)
      return makeError("sentence {} has {} positions from {} on, of {} in all and {} at most", b, length, first, tokens, maxLength);
  }
  return llvm::Error::success();
}

template <typename T>
llvm::Expected<std::shared_ptr<Array<T>>> Machine<T>::spread(const Array<T> &x, const Array<T> &spans, unsigned axis, int64_t maxLength) {
  if (llvm::Error error = checkSpans(spans, x.shape[axis], maxLength))
    return std::move(error);
  llvm::SmallVector<int64_t> shape(x.shape);
  shape[0] = spans.shape[0];
  shape[axis] = maxLength;
  auto result = std::make_shared<Array<T>>(shape, x.isFloat);
  llvm::SmallVector<int64_t> strides = stridesOf(x.shape);
  int64_t step = strides[axis];
  strides[0] = 0;
  Odometer at(shape, {strides});
  for (int64_t i = 0, n = result->size(); i < n; ++i, at.next()) {
    int64_t b = at.getIndex()[0], position = at.getIndex()[axis];
    if (position < spans.ints[2 * b + 1])
      result->copy(i, x, at.offset(0) + spans.ints[2 * b] * step);
  }
  return result;
}

template <typename T>
llvm::Error Machine<T>::exec(mlir::xf::SpreadOp op) {
  auto shape = shapeOf(op.getResult().getType());
  if (!shape)
    return shape.takeError();
  auto result = spread(get(op.getX()), get(op.getSpans()), op.getAxis(), (*shape)[op.getAxis()]);
  if (!result)
    return result.takeError();
  return define(op.getResult(), std::move(*result));
}

template <typename T>
llvm::Error Machine<T>::exec(mlir::xf::RearrangeOp op) {
  const Array<T> &x = get(op.getX());
  auto emitError = [&] { return op.emitOpError(); };
  auto pattern = mlir::xf::Rearrangement::parse(op.getPattern(), emitError);
  if (mlir::failed(pattern))
    return makeError("the pattern is wrong");
  // All sizes are known here, so the axes are bound to numbers alone.
  llvm::SmallVector<int64_t> sizes;
  llvm::SmallVector<llvm::StringRef> names;
  auto type = mlir::RankedTensorType::get(x.shape, op.getX().getType().getElementType());
  if (mlir::failed(pattern->bind(type, op.getSizes(), sizes, names, emitError)))
    return makeError("the pattern '{}' does not fit the shape {}", op.getPattern().str(), formatShape({x.shape.begin(), x.shape.end()}));
  llvm::SmallVector<int64_t> inputStrides = stridesOf(x.shape), axisStrides(sizes.size());
  for (auto [d, group] : llvm::enumerate(pattern->in)) {
    int64_t stride = inputStrides[d];
    for (unsigned axis : llvm::reverse(group)) {
      axisStrides[axis] = stride;
      stride *= sizes[axis];
    }
  }
  llvm::SmallVector<int64_t> shape, axes, strides;
  for (auto &group : pattern->out) {
    int64_t size = 1;
    for (unsigned axis : group) {
      size *= sizes[axis];
      axes.push_back(sizes[axis]);
      strides.push_back(axisStrides[axis]);
    }
    shape.push_back(size);
  }
  auto result = std::make_shared<Array<T>>(shape, x.isFloat);
  Odometer at(axes, {strides});
  for (int64_t i = 0, n = result->size(); i < n; ++i, at.next())
    result->copy(i, x, at.offset(0));
  return define(op.getResult(), std::move(result));
}

template <typename T>
llvm::Error Machine<T>::exec(mlir::xf::SliceOp op) {
  const Array<T> &x = get(op.getX());
  int64_t axis = op.getAxis(), start = op.getStart(), step = op.getStep();
  llvm::SmallVector<int64_t> shape(x.shape), strides = stridesOf(x.shape);
  shape[axis] = op.getSize();
  if (shape[axis] && op.getLast() >= x.shape[axis])
    return makeError("reads up to position {} of dimension {}, which has {}", op.getLast(), axis, x.shape[axis]);
  int64_t base = start * strides[axis];
  strides[axis] *= step;
  auto result = std::make_shared<Array<T>>(shape, x.isFloat);
  Odometer at(shape, {strides});
  for (int64_t i = 0, n = result->size(); i < n; ++i, at.next())
    result->copy(i, x, base + at.offset(0));
  return define(op.getResult(), std::move(result));
}

template <typename T>
llvm::Error Machine<T>::exec(mlir::xf::ConcatOp op) {
  auto result = makeResult(op.getResult());
  if (!result)
    return result.takeError();
  llvm::SmallVector<int64_t> strides = stridesOf((*result)->shape);
  int64_t axis = op.getAxis(), base = 0;
  for (mlir::Value input : op.getInputs()) {
    const Array<T> &x = get(input);
    Odometer at(x.shape, {strides});
    for (int64_t i = 0, n = x.size(); i < n; ++i, at.next())
      (*result)->copy(base + at.offset(0), x, i);
    base += x.shape[axis] * strides[axis];
  }
  return define(op.getResult(), std::move(*result));
}

template class Machine<float>;
template class Machine<double>;

} // namespace xf
