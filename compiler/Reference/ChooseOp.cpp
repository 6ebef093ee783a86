// The vocabulary reduction, as it is defined: all logits, then the best ones.
#include "compiler/Reference/Machine.h"

#include <cmath>

namespace xf {

namespace {
/// The results of an op, a row at a time.
template <typename T>
struct Choices {
  Choices(int64_t rows, int64_t maxChosen, int64_t parts)
      : maxChosen(maxChosen), values(make(rows, maxChosen, true)), tokens(make(rows, maxChosen, false)), norms(make(rows, 2, true)),
        parts(make(rows, parts, true)) {}

  /// Takes the `wanted` best of a row's logits. Columns whose bits are set in `forbidden` become -infinity first.
  void choose(int64_t row, llvm::MutableArrayRef<T> logits, const int64_t *forbidden, int64_t wanted) {
    bool nonFinite = false;
    std::vector<int64_t> order;
    for (int64_t n = 0, columns = logits.size(); n < columns; ++n) {
      if (forbidden[n / 32] >> (n % 32) & 1)
        logits[n] = -T(INFINITY);
      nonFinite |= !(logits[n] <= std::numeric_limits<float>::max());
      if (logits[n] > -T(INFINITY))
        order.push_back(n);
    }
    llvm::stable_sort(order, [&](int64_t a, int64_t b) { return logits[a] > logits[b]; });
    T largest = order.empty() ? -T(INFINITY) : logits[order.front()], sum = 0;
    for (int64_t n : order)
      sum += std::exp(logits[n] - largest);
    norms->floats[2 * row] = nonFinite ? T(NAN) : largest;
    norms->floats[2 * row + 1] = sum;
    for (int64_t i = 0; i < maxChosen; ++i) {
      bool there = i < wanted && i < static_cast<int64_t>(order.size());
      values->floats[row * maxChosen + i] = there ? logits[order[i]] : -T(INFINITY);
      tokens->ints[row * maxChosen + i] = there ? order[i] : -1;
    }
  }

  static std::shared_ptr<Array<T>> make(int64_t rows, int64_t width, bool isFloat) {
    return std::make_shared<Array<T>>(llvm::ArrayRef<int64_t>{rows, width}, isFloat);
  }

  int64_t maxChosen;
  std::shared_ptr<Array<T>> values, tokens, norms, parts;
};
} // namespace

template <typename T>
llvm::Error Machine<T>::exec(mlir::xf::ChooseOp op) {
  const Array<T> &x = get(op.getX());
  int64_t columns = op.getColumns(), axis = op.getAxis(), rows = x.shape[1 - axis], positions = x.shape[axis];
  Array<T> product({x.shape[0], x.shape[1], columns}, x.isFloat), logits({x.shape[0], x.shape[1], columns}, true);
  multiply(x, get(op.getWeight()), product);
  const int64_t identity[] = {0, 1, 2};
  std::vector<const Array<T> *> inputs{&product};
  std::vector<llvm::ArrayRef<int64_t>> maps{identity};
  for (auto [i, extra] : llvm::enumerate(op.getExtras())) {
    inputs.push_back(&get(extra));
    maps.push_back(op.getMap(i));
  }
  Array<T> *result = &logits;
  if (llvm::Error error = apply(op.getBody().front(), inputs, maps, product.shape, result))
    return error;

  const Array<T> &forbidden = get(op.getForbidden());
  const std::vector<int64_t> &classes = get(op.getClasses()).ints, &options = get(op.getOptions()).ints;
  int64_t maxChosen = op.getMaxChosen();
  Choices<T> choices(rows, maxChosen, op.getPartsWidth());
  for (int64_t row = 0; row < rows; ++row) {
    if (classes[row] < 0 || classes[row] >= forbidden.shape[0])
      return makeError("there is no class {} of forbidden columns", classes[row]);
    int64_t last = axis == 1 ? row * positions + positions - 1 : (positions - 1) * rows + row;
    choices.choose(row, llvm::MutableArrayRef<T>(logits.floats.data() + last * columns, columns),
                   forbidden.ints.data() + classes[row] * forbidden.shape[1], std::min(options[0], maxChosen));
  }
  // Named, as zip would keep a temporary list, but not its elements.
  const Ref<T> results[] = {choices.values, choices.tokens, choices.norms, choices.parts};
  for (auto [value, array] : llvm::zip(op.getResults(), results))
    if (llvm::Error error = define(value, array))
      return error;
  return llvm::Error::success();
}

template class Machine<float>;
template class Machine<double>;

} // namespace xf
