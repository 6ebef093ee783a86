// Attention, one query at a time.
#include "compiler/Reference/Machine.h"

#include <cmath>

namespace xf {

/// Runs a mask or bias region for all keys of one query; `take` gets the first key's index, the frame and the lanes.
template <typename T>
llvm::Error Machine<T>::runPositions(Compiled &compiled, int64_t b, int64_t h, int64_t i, int64_t keys,
                                     llvm::function_ref<void(int64_t, const ScalarFrame &, int)> take) {
  ScalarFrame &frame = compiled.frame;
  for (int64_t first = 0; first < keys; first += ScalarFrame::maxLanes) {
    int lanes = std::min<int64_t>(ScalarFrame::maxLanes, keys - first);
    std::fill_n(frame.intArg(0), lanes, b);
    std::fill_n(frame.intArg(1), lanes, h);
    std::fill_n(frame.intArg(2), lanes, i);
    for (int l = 0; l < lanes; ++l)
      frame.intArg(3)[l] = first + l;
    if (llvm::Error error = frame.run(lanes))
      return error;
    take(first, frame, lanes);
  }
  return llvm::Error::success();
}

template <typename T>
static T dot(const T *a, const T *b, int64_t n) {
  T sum = 0;
  for (int64_t k = 0; k < n; ++k)
    sum += a[k] * b[k];
  return sum;
}

/// `value` as an element of this type keeps it.
template <typename T>
static T rounded(T value, mlir::Type element) {
  if (element.isBF16())
    return roundToBF16(static_cast<float>(value));
  return element.isF16() ? static_cast<T>(roundToF16(static_cast<float>(value))) : value;
}

/// A softmax's exponentials, rounded as factors of this type, in place; returns the sum of those that are not rounded. A row without
/// any allowed key needs no case of its own: equal finite fills give equal ones, -inf gives exp(-inf + inf) = NaN.
template <typename T>
static T exponentials(std::vector<T> &row, mlir::Type factor) {
  T largest = -T(INFINITY), sum = 0;
  for (T value : row)
    largest = std::isnan(value) || value > largest ? value : largest;
  for (T &value : row) {
    sum += value = static_cast<T>(std::exp(static_cast<double>(static_cast<T>(value - largest))));
    value = rounded(value, factor);
  }
  return sum;
}

template <typename T>
llvm::Error Machine<T>::exec(mlir::xf::AttendOp op) {
  const Array<T> &q = get(op.getQ()), &k = get(op.getK()), &v = get(op.getV());
  auto output = makeResult(op.getOutput());
  if (!output)
    return output.takeError();
  std::shared_ptr<Array<T>> probabilities;
  if (op.getProbabilities()) {
    auto result = makeResult(op.getProbabilities());
    if (!result)
      return result.takeError();
    probabilities = *result;
  }
  Compiled *mask = nullptr, *bias = nullptr;
  for (auto [region, target] : {std::pair{&op.getMask(), &mask}, std::pair{&op.getBias(), &bias}})
    if (!region->empty()) {
      auto compiled = compile(region->front());
      if (!compiled)
        return compiled.takeError();
      *target = *compiled;
    }

  int64_t batch = q.shape[0], heads = q.shape[1], queries = q.shape[2], depth = q.shape[3];
  int64_t groups = k.shape[1], keys = k.shape[2], width = v.shape[3];
  auto elementOf = [](mlir::Value value) { return llvm::cast<mlir::RankedTensorType>(value.getType()).getElementType(); };
  mlir::Type factor = elementOf(op.getV()), result = elementOf(op.getOutput());
  bool isNarrow = !factor.isF32();
  T scale = static_cast<T>(op.getScale().convertToDouble()), fill = static_cast<T>(op.getFill().convertToDouble());
  std::vector<T> scores(keys);
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = 0; i < queries; ++i) {
        int64_t group = b * groups + h / (heads / groups), row = (b * heads + h) * queries + i;
        for (int64_t j = 0; j < keys; ++j)
          scores[j] = scale * dot(&q.floats[row * depth], &k.floats[(group * keys + j) * depth], depth);
        if (bias)
          if (llvm::Error error = runPositions(*bias, b, h, i, keys, [&](int64_t first, const ScalarFrame &frame, int lanes) {
                for (int l = 0; l < lanes; ++l)
                  scores[first + l] += static_cast<T>(frame.floatResult(0)[l]);
              }))
            return error;
        if (mask)
          if (llvm::Error error = runPositions(*mask, b, h, i, keys, [&](int64_t first, const ScalarFrame &frame, int lanes) {
                for (int l = 0; l < lanes; ++l)
                  scores[first + l] = frame.intResult(0)[l] ? scores[first + l] : fill;
              }))
            return error;
        T sum = exponentials(scores, factor);
        if (!isNarrow)
          for (T &probability : scores)
            probability /= sum;
        T *context = (*output)->floats.data() + row * width;
        for (int64_t j = 0; j < keys; ++j)
          for (int64_t e = 0; e < width; ++e)
            context[e] += scores[j] * v.floats[(group * keys + j) * width + e];
        for (int64_t e = 0; isNarrow && e < width; ++e)
          context[e] = rounded(context[e] / sum, result);
        if (probabilities)
          std::copy(scores.begin(), scores.end(), probabilities->floats.begin() + row * keys);
      }
  if (probabilities)
    if (llvm::Error error = define(op.getProbabilities(), std::move(probabilities)))
      return error;
  return define(op.getOutput(), std::move(*output));
}

template class Machine<float>;
template class Machine<double>;

} // namespace xf
