// Maps, row statistics, row kernels and scans.
#include "compiler/Reference/Machine.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace xf {

/// An operand's strides along the first `rank` dimensions of a loop nest; the operand's dimension d follows dimension map[d], or none (-1).
template <typename T>
static llvm::SmallVector<int64_t> stridesAlong(llvm::ArrayRef<int64_t> map, const Array<T> &operand, int64_t rank) {
  llvm::SmallVector<int64_t> strides(rank, 0);
  for (auto [stride, target] : llvm::zip(stridesOf(operand.shape), map))
    if (target >= 0 && target < rank)
      strides[target] += stride;
  return strides;
}

/// Makes neighbours from `first` on an argument of a body.
template <typename T>
static void loadLanes(ScalarFrame &frame, int64_t argument, const Array<T> &array, int64_t first, int lanes) {
  if (array.isFloat)
    std::copy_n(array.floats.begin() + first, lanes, frame.floatArg(argument));
  else
    std::copy_n(array.ints.begin() + first, lanes, frame.intArg(argument));
}

/// Stores a body's result as neighbours from `first` on.
template <typename T>
static void storeLanes(ScalarFrame &frame, int64_t result, Array<T> &array, int64_t first, int lanes) {
  if (array.isFloat)
    std::copy_n(frame.floatResult(result), lanes, array.floats.begin() + first);
  else
    std::copy_n(frame.intResult(result), lanes, array.ints.begin() + first);
}

/// Runs `body` for each element of `shape`; operand o's dimension d follows dimension maps[o][d].
template <typename T>
llvm::Error Machine<T>::apply(mlir::Block &body, llvm::ArrayRef<const Array<T> *> inputs, llvm::ArrayRef<llvm::ArrayRef<int64_t>> maps,
                              llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<Array<T> *> results, Precision precision) {
  auto region = compile(body, precision);
  if (!region)
    return region.takeError();
  ScalarFrame &frame = (*region)->frame;
  std::vector<llvm::SmallVector<int64_t>> strides;
  for (auto [input, map] : llvm::zip(inputs, maps))
    strides.push_back(stridesAlong(map, *input, shape.size()));
  int64_t total = 1;
  for (int64_t d : shape)
    total *= d;
  Odometer at(shape, std::move(strides));
  for (int64_t first = 0; first < total; first += ScalarFrame::maxLanes) {
    int lanes = std::min<int64_t>(ScalarFrame::maxLanes, total - first);
    for (int l = 0; l < lanes; ++l, at.next())
      for (auto [o, input] : llvm::enumerate(inputs)) {
        if (input->isFloat)
          frame.floatArg(o)[l] = input->floats[at.offset(o)];
        else
          frame.intArg(o)[l] = input->ints[at.offset(o)];
      }
    if (llvm::Error error = frame.run(lanes))
      return error;
    for (auto [r, result] : llvm::enumerate(results))
      storeLanes(frame, r, *result, first, lanes);
  }
  return llvm::Error::success();
}

template <typename T>
llvm::Error Machine<T>::applyMap(mlir::xf::MapOp op, llvm::ArrayRef<const Array<T> *> inputs, const Results &results, Precision precision) {
  std::vector<llvm::ArrayRef<int64_t>> maps;
  for (size_t i = 0; i < inputs.size(); ++i)
    maps.push_back(op.getMap(i));
  return apply(op.getBody().front(), inputs, maps, results.pointers.front()->shape, results.pointers, precision);
}

/// An f32 value on which discontinuous results depend (see Scalar.h): computed in f32 as far back as only maps compute it, from rounded values.
template <typename T>
llvm::Expected<Ref<T>> Machine<T>::rounded(mlir::Value value, int depth) {
  constexpr int maxDepth = 64; // of the recursion
  if (auto it = roundedValues.find(value); it != roundedValues.end())
    return it->second;
  auto op = value.getDefiningOp<mlir::xf::MapOp>();
  if (!op || depth == maxDepth) {
    auto array = std::make_shared<Array<T>>(get(value));
    for (T &element : array->floats)
      element = static_cast<float>(element);
    return roundedValues[value] = std::move(array);
  }
  std::vector<Ref<T>> kept;
  std::vector<const Array<T> *> inputs;
  for (mlir::Value input : op.getInputs()) {
    auto array = get(input).isFloat ? rounded(input, depth + 1) : llvm::Expected<Ref<T>>(values.find(input)->second);
    if (!array)
      return array.takeError();
    kept.push_back(*array);
    inputs.push_back(kept.back().get());
  }
  auto results = makeResults(op->getResults());
  if (!results)
    return results.takeError();
  if (llvm::Error error = applyMap(op, inputs, *results, Precision::F32))
    return error;
  for (auto [result, array] : llvm::zip(op->getResults(), results->arrays))
    roundedValues[result] = array;
  return roundedValues[value];
}

template <typename T>
llvm::Error Machine<T>::exec(mlir::xf::MapOp op) {
  std::vector<const Array<T> *> inputs = getAll(op.getInputs());
  std::vector<Ref<T>> kept;
  if constexpr (precision == Precision::F64) {
    auto region = compile(op.getBody().front());
    if (!region)
      return region.takeError();
    for (unsigned i : (*region)->program.getRoundedArgs()) {
      auto array = rounded(op.getInputs()[i]);
      if (!array)
        return array.takeError();
      kept.push_back(*array);
      inputs[i] = kept.back().get();
    }
  }
  auto results = makeResults(op->getResults());
  if (!results)
    return results.takeError();
  if (llvm::Error error = applyMap(op, inputs, *results, precision))
    return error;
  return define(op->getResults(), *results);
}

/// Reduces integers of 32 bits.
static int64_t reduceRow(mlir::xf::ReduceKind kind, const int64_t *row, int64_t n) {
  if (kind == mlir::xf::ReduceKind::max)
    return *std::max_element(row, row + n);
  return static_cast<int32_t>(std::accumulate(row, row + n, uint64_t(0)));
}

/// Sixteen partials by index mod 16, combined by distance 8, 4, 2, 1.
template <typename T>
static T reduceRow(mlir::xf::ReduceKind kind, const T *row, int64_t n) {
  bool isSum = kind == mlir::xf::ReduceKind::sum;
  auto combine = [&](T a, T b) -> T {
    if (isSum)
      return a + b;
    return std::isnan(a) || std::isnan(b) ? T(NAN) : std::max(a, b);
  };
  T partial[16];
  std::fill_n(partial, 16, isSum ? T(0) : -T(INFINITY));
  for (int64_t i = 0; i < n; ++i)
    partial[i % 16] = combine(partial[i % 16], row[i]);
  for (int distance = 8; distance; distance /= 2)
    for (int i = 0; i < distance; ++i)
      partial[i] = combine(partial[i], partial[i + distance]);
  return partial[0];
}

template <typename T>
llvm::Error Machine<T>::exec(mlir::xf::ReduceOp op) {
  const Array<T> &x = get(op.getX());
  llvm::SmallVector<int64_t> shape(x.shape);
  int64_t n = shape.back();
  shape.back() = 1;
  auto result = std::make_shared<Array<T>>(shape, x.isFloat);
  for (auto [r, value] : llvm::enumerate(result->floats))
    value = reduceRow(op.getKind(), x.floats.data() + r * n, n);
  for (auto [r, value] : llvm::enumerate(result->ints))
    value = reduceRow(op.getKind(), x.ints.data() + r * n, n);
  return define(op.getResult(), std::move(result));
}

/// Runs the body, a block of ordinary ops on rank-1 tensors, for one row after the other.
template <typename T>
llvm::Error Machine<T>::exec(mlir::xf::RowOp op) {
  auto results = makeResults(op->getResults());
  if (!results)
    return results.takeError();
  llvm::SmallVector<int64_t> rows(results->pointers.front()->shape);
  rows.pop_back();
  int64_t last = rows.size(), count = 1;
  for (int64_t d : rows)
    count *= d;
  // The operands, and where their rows start.
  std::vector<Ref<T>> inputs;
  std::vector<llvm::SmallVector<int64_t>> strides;
  for (auto [i, value] : llvm::enumerate(op.getInputs())) {
    inputs.push_back(values.find(value)->second);
    strides.push_back(stridesAlong(op.getMap(i), *inputs.back(), last));
  }
  mlir::Block &body = op.getBody().front();
  Odometer at(rows, std::move(strides));
  for (int64_t row = 0; row < count; ++row, at.next()) {
    for (auto [i, input] : llvm::enumerate(inputs)) {
      llvm::ArrayRef<int64_t> map = op.getMap(i);
      int64_t length = !map.empty() && map.back() == last ? input->shape.back() : 1;
      auto part = std::make_shared<Array<T>>(llvm::ArrayRef<int64_t>{length}, input->isFloat);
      for (int64_t e = 0; e < length; ++e)
        part->copy(e, *input, at.offset(i) + e);
      if (llvm::Error error = define(body.getArgument(i), std::move(part)))
        return error;
    }
    if (llvm::Error error = execute(body))
      return error;
    for (auto [value, result] : llvm::zip(body.getTerminator()->getOperands(), results->pointers)) {
      const Array<T> &part = get(value);
      for (int64_t e = 0; e < part.size(); ++e)
        result->copy(row * part.size() + e, part, e);
    }
  }
  return define(op->getResults(), *results);
}

/// The recurrence along `axis`. Each state holds a value for each element of the other dimensions, outer before inner.
template <typename T>
llvm::Error Machine<T>::scan(mlir::Block &body, llvm::ArrayRef<const Array<T> *> inputs, int64_t axis, bool isReversed,
                             llvm::MutableArrayRef<std::vector<T>> states, llvm::ArrayRef<Array<T> *> results) {
  auto region = compile(body);
  if (!region)
    return region.takeError();
  ScalarFrame &frame = (*region)->frame;
  llvm::ArrayRef<int64_t> shape = results.front()->shape;
  int64_t outer = 1, inner = 1, steps = shape[axis], count = states.size();
  for (auto [d, size] : llvm::enumerate(shape))
    (static_cast<int64_t>(d) < axis ? outer : inner) *= static_cast<int64_t>(d) == axis ? 1 : size;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t t = 0; t < steps; ++t)
      for (int64_t first = 0; first < inner; first += ScalarFrame::maxLanes) {
        int lanes = std::min<int64_t>(ScalarFrame::maxLanes, inner - first);
        int64_t offset = (o * steps + (isReversed ? steps - 1 - t : t)) * inner + first;
        for (int64_t s = 0; s < count; ++s)
          std::copy_n(states[s].begin() + o * inner + first, lanes, frame.floatArg(s));
        for (auto [i, input] : llvm::enumerate(inputs))
          loadLanes(frame, count + i, *input, offset, lanes);
        if (llvm::Error error = frame.run(lanes))
          return error;
        for (int64_t s = 0; s < count; ++s)
          std::copy_n(frame.floatResult(s), lanes, states[s].begin() + o * inner + first);
        for (auto [r, result] : llvm::enumerate(results))
          storeLanes(frame, count + r, *result, offset, lanes);
      }
  return llvm::Error::success();
}

template <typename T>
llvm::Error Machine<T>::exec(mlir::xf::ScanOp op) {
  std::vector<const Array<T> *> inputs = getAll(op.getInputs());
  auto results = makeResults(op->getResults());
  if (!results)
    return results.takeError();
  int64_t steps = results->pointers.front()->shape[op.getAxis()];
  std::vector<std::vector<T>> states;
  for (double init : op.getInit())
    states.emplace_back(steps ? results->pointers.front()->size() / steps : 0, static_cast<T>(init));
  if (llvm::Error error = scan(op.getBody().front(), inputs, op.getAxis(), op.getReverse(), states, results->pointers))
    return error;
  return define(op->getResults(), *results);
}

template class Machine<float>;
template class Machine<double>;

} // namespace xf
