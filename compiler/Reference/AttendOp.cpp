// Attention, one query at a time.
#include "compiler/Reference/Machine.h"

#include <cmath>

namespace xf {

/// Runs a region for all keys of one query, some at a time; `scores`, if given, are its last argument. `consume` gets the index of the first of
/// these keys, the frame and the lanes.
template <typename T>
llvm::Error Machine<T>::runPositions(Compiled &compiled, int64_t b, int64_t h, int64_t i, int64_t keys, const std::vector<T> *scores,
                                     llvm::function_ref<void(int64_t, const ScalarFrame &, int)> consume) {
  ScalarFrame &frame = compiled.frame;
  for (int64_t first = 0; first < keys; first += ScalarFrame::maxLanes) {
    int lanes = std::min<int64_t>(ScalarFrame::maxLanes, keys - first);
    std::fill_n(frame.intArg(0), lanes, b);
    std::fill_n(frame.intArg(1), lanes, h);
    std::fill_n(frame.intArg(2), lanes, i);
    for (int l = 0; l < lanes; ++l)
      frame.intArg(3)[l] = first + l;
    if (scores)
      std::copy_n(scores->begin() + first, lanes, frame.floatArg(4));
    if (llvm::Error error = frame.run(lanes))
      return error;
    consume(first, frame, lanes);
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

/// `value` rounded to this element type.
template <typename T>
static T rounded(T value, mlir::Type element) {
  if (element.isBF16())
    return roundToBF16(static_cast<float>(value));
  return element.isF16() ? static_cast<T>(roundToF16(static_cast<float>(value))) : value;
}

/// Replaces scores by a softmax's exponentials, rounded to the type of factors; returns the sum of the unrounded ones. Where a mask leaves a
/// row no key, equal finite fills give equal ones; scores that are all -inf give 0 where keys may be hidden (`mayBeEmpty`), else NaN.
template <typename T>
static T exponentials(std::vector<T> &row, mlir::Type factor, bool mayBeEmpty) {
  T largest = -T(INFINITY), sum = 0;
  for (T value : row)
    largest = std::isnan(value) || value > largest ? value : largest;
  if (mayBeEmpty && largest == -T(INFINITY)) {
    std::fill(row.begin(), row.end(), T(0));
    return 1;
  }
  for (T &value : row) {
    sum += value = static_cast<T>(std::exp(static_cast<double>(static_cast<T>(value - largest))));
    value = rounded(value, factor);
  }
  return sum;
}

namespace {
/// What one query computes, besides regions.
template <typename T>
class Query {
public:
  /// `spans`: of packed sentences, or null.
  Query(mlir::xf::AttendOp op, const Array<T> &q, const Array<T> &k, const Array<T> &v, const Array<T> *spans)
      : q(q), k(k), v(v), spans(spans), scale(static_cast<T>(op.getScale().convertToDouble())), factor(elementOf(op.getV())),
        result(elementOf(op.getOutput())), mayBeEmpty(op.mayHideAllKeys()) {}

  void score(int64_t b, int64_t h, int64_t i, std::vector<T> &scores) const {
    int64_t depth = q.shape[3], keys = scores.size(), from = firstKey(b, h);
    for (int64_t j = 0; j < keys; ++j)
      scores[j] = scale * dot(&q.floats[rowOf(b, h, i) * depth], &k.floats[(from + j) * depth], depth);
  }

  /// The mean of the values, weighted by the softmax of the scores, which become probabilities. Rounded exponentials are not
  /// divided by their sum: the result is instead.
  void attend(int64_t b, int64_t h, int64_t i, std::vector<T> &scores, Array<T> &output) const {
    int64_t keys = scores.size(), width = v.shape[3], from = firstKey(b, h);
    bool isNarrow = !factor.isF32();
    T sum = exponentials(scores, factor, mayBeEmpty);
    if (!isNarrow)
      for (T &probability : scores)
        probability /= sum;
    T *context = output.floats.data() + rowOf(b, h, i) * width;
    // Values at the end whose weight is 0, as of padding, are not read: they may be no numbers.
    while (keys > 0 && scores[keys - 1] == 0)
      --keys;
    for (int64_t j = 0; j < keys; ++j)
      for (int64_t e = 0; e < width; ++e)
        context[e] += scores[j] * v.floats[(from + j) * width + e];
    for (int64_t e = 0; isNarrow && e < width; ++e)
      context[e] = rounded(context[e] / sum, result);
  }

  /// The index of a query among all.
  int64_t rowOf(int64_t b, int64_t h, int64_t i) const {
    return spans ? h * q.shape[2] + spans->ints[2 * b] + i : (b * q.shape[1] + h) * q.shape[2] + i;
  }

private:
  static mlir::Type elementOf(mlir::Value value) { return llvm::cast<mlir::RankedTensorType>(value.getType()).getElementType(); }
  /// The index of the first key of the head's group among all keys.
  int64_t firstKey(int64_t b, int64_t h) const { return (b * k.shape[1] + h / (q.shape[1] / k.shape[1])) * k.shape[2]; }

  const Array<T> &q, &k, &v, *spans;
  T scale;
  mlir::Type factor, result; // element types
  bool mayBeEmpty;
};
} // namespace

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
  Compiled *mask = nullptr, *bias = nullptr, *score = nullptr;
  for (auto [region, target] : {std::pair{&op.getMask(), &mask}, std::pair{&op.getBias(), &bias}, std::pair{&op.getScore(), &score}})
    if (!region->empty()) {
      auto compiled = compile(region->front());
      if (!compiled)
        return compiled.takeError();
      *target = *compiled;
    }

  const Array<T> *spans = op.getSpans() ? &get(op.getSpans()) : nullptr;
  if (spans)
    if (llvm::Error error = checkSpans(*spans, q.shape[2], k.shape[2]))
      return error;
  Query<T> query(op, q, k, v, spans);
  std::vector<T> scores;
  auto setScore = [&](int64_t first, const ScalarFrame &frame, int lanes) {
    for (int l = 0; l < lanes; ++l)
      scores[first + l] = static_cast<T>(frame.floatResult(0)[l]);
  };
  auto addBias = [&](int64_t first, const ScalarFrame &frame, int lanes) {
    for (int l = 0; l < lanes; ++l)
      scores[first + l] += static_cast<T>(frame.floatResult(0)[l]);
  };
  auto hide = [&, fill = static_cast<T>(op.getFill().convertToDouble())](int64_t first, const ScalarFrame &frame, int lanes) {
    for (int l = 0; l < lanes; ++l)
      scores[first + l] = frame.intResult(0)[l] ? scores[first + l] : fill;
  };
  auto changeScores = [&](int64_t b, int64_t h, int64_t i) -> llvm::Error {
    int64_t keys = scores.size();
    if (score)
      if (llvm::Error error = runPositions(*score, b, h, i, keys, &scores, setScore))
        return error;
    if (bias)
      if (llvm::Error error = runPositions(*bias, b, h, i, keys, nullptr, addBias))
        return error;
    return mask ? runPositions(*mask, b, h, i, keys, nullptr, hide) : llvm::Error::success();
  };
  for (int64_t b = 0; b < k.shape[0]; ++b) {
    int64_t queries = spans ? spans->ints[2 * b + 1] : q.shape[2], keys = spans ? queries : k.shape[2];
    scores.resize(keys);
    for (int64_t h = 0; h < q.shape[1]; ++h)
      for (int64_t i = 0; i < queries; ++i) {
        query.score(b, h, i, scores);
        if (llvm::Error error = changeScores(b, h, i))
          return error;
        query.attend(b, h, i, scores, **output);
        if (probabilities)
          std::copy(scores.begin(), scores.end(), probabilities->floats.begin() + query.rowOf(b, h, i) * keys);
      }
  }
  if (probabilities)
    if (llvm::Error error = define(op.getProbabilities(), std::move(probabilities)))
      return error;
  return define(op.getOutput(), std::move(*output));
}

template class Machine<float>;
template class Machine<double>;

} // namespace xf
