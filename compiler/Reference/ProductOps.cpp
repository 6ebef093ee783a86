// Matrix products, look-ups, and quantising what they read.
#include "compiler/Reference/Machine.h"
#include "compiler/Reference/QuantizedRow.h"

namespace xf {

/// Exact sums of products of an unsigned and a signed factor.
template <typename T>
static void multiplyBytes(const Array<T> &x, const Array<T> &weight, Array<T> &result) {
  int64_t columns = weight.shape[0], depth = weight.shape[1];
  for (int64_t i = 0; i < result.size(); ++i) {
    const int64_t *a = x.ints.data() + i / columns * depth, *b = weight.ints.data() + i % columns * depth;
    int64_t sum = 0;
    for (int64_t k = 0; k < depth; ++k)
      sum += (a[k] & 0xff) * b[k];
    result.ints[i] = static_cast<int32_t>(sum);
  }
}

/// result[m, n] = Σ_k x[m, k] weight[n, k], k ascending from +0. Eight columns at a time, for speed only.
template <typename T>
void Machine<T>::multiply(const Array<T> &x, const Array<T> &weight, Array<T> &result) {
  if (!x.isFloat)
    return multiplyBytes(x, weight, result);
  if (!weight.isFloat) {
    Array<T> widened(weight.shape, true);
    llvm::copy(weight.ints, widened.floats.begin());
    return multiply(x, widened, result);
  }
  int64_t columns = weight.shape[0], depth = weight.shape[1], rows = columns ? result.size() / columns : 0;
  constexpr int width = 8;
  for (int64_t m = 0; m < rows; ++m) {
    const T *a = x.floats.data() + m * depth;
    T *out = result.floats.data() + m * columns;
    int64_t n = 0;
    for (; n + width <= columns; n += width) {
      const T *b = weight.floats.data() + n * depth;
      T sum[width] = {};
      for (int64_t k = 0; k < depth; ++k)
        for (int c = 0; c < width; ++c)
          sum[c] += a[k] * b[c * depth + k];
      std::copy_n(sum, width, out + n);
    }
    for (; n < columns; ++n) {
      T sum = 0;
      for (int64_t k = 0; k < depth; ++k)
        sum += a[k] * weight.floats[n * depth + k];
      out[n] = sum;
    }
  }
}

/// In f32, whatever the machine's precision: the results must be those that are packed.
template <typename T>
llvm::Error Machine<T>::exec(mlir::xf::QuantizeOp op) {
  const Array<T> &x = get(op.getX());
  int64_t rows = x.shape[0], depth = x.shape[1];
  if (op->getNumResults() == 1) {
    auto rounded = std::make_shared<Array<T>>(x.shape, true);
    bool isF16 = llvm::cast<mlir::RankedTensorType>(op->getResult(0).getType()).getElementType().isF16();
    auto round = isF16 ? roundToF16 : roundToBF16;
    llvm::transform(x.floats, rounded->floats.begin(), [&](T value) { return round(static_cast<float>(value)); });
    return define(op->getResult(0), std::move(rounded));
  }
  auto elements = std::make_shared<Array<T>>(x.shape, false);
  auto scales = std::make_shared<Array<T>>(llvm::ArrayRef<int64_t>{rows}, true);
  auto sums = std::make_shared<Array<T>>(llvm::ArrayRef<int64_t>{rows}, false);
  auto norms = std::make_shared<Array<T>>(llvm::ArrayRef<int64_t>{op.isBounded() ? rows : 0}, true), errors = std::make_shared<Array<T>>(*norms);
  // Each packed weight is one of the results, and has an op of its own: unused results are not computed.
  auto isUsed = [&](unsigned fromLast) { return op.isBounded() && !op->getResult(op->getNumResults() - fromLast).use_empty(); };
  bool hasNorms = isUsed(3), hasErrors = isUsed(2), hasMean = isUsed(1);
  auto mean = std::make_shared<Array<T>>(llvm::ArrayRef<int64_t>{depth}, true);
  MeanRow all(depth);
  for (int64_t n = 0; n < rows; ++n) {
    llvm::ArrayRef<T> values(x.floats.data() + n * depth, depth);
    QuantizedRow row(values, op.isToInt16());
    scales->floats[n] = row.getScale();
    llvm::copy(row.getElements(), elements->ints.begin() + n * depth);
    sums->ints[n] = row.sum();
    if (hasNorms)
      norms->floats[n] = row.norm();
    if (hasErrors)
      errors->floats[n] = row.errorNorm();
    if (hasMean)
      all.add(values);
  }
  for (int64_t k = 0; hasMean && k < depth; ++k)
    mean->floats[k] = all.element(k);
  llvm::SmallVector<Ref<T>> results{elements, scales};
  if (!op.isToInt16())
    results.push_back(sums);
  results.append({norms, errors, mean});
  for (auto [value, array] : llvm::zip_first(op->getResults(), results))
    if (llvm::Error error = define(value, array))
      return error;
  return llvm::Error::success();
}

template <typename T>
llvm::Error Machine<T>::exec(mlir::xf::LinearOp op) {
  auto result = makeResult(op.getResult());
  if (!result)
    return result.takeError();
  multiply(get(op.getX()), get(op.getWeight()), **result);
  if (op.getBias()) {
    const std::vector<T> &bias = get(op.getBias()).floats;
    for (size_t i = 0; i < (*result)->floats.size(); ++i)
      (*result)->floats[i] += bias[i % bias.size()];
  }
  return define(op.getResult(), std::move(*result));
}

template <typename T>
llvm::Error Machine<T>::exec(mlir::xf::ContractOp op) {
  auto result = makeResult(op.getResult());
  if (!result)
    return result.takeError();
  Array<T> product((*result)->shape, get(op.getX()).isFloat);
  multiply(get(op.getX()), get(op.getWeight()), product);
  llvm::SmallVector<int64_t> identity(product.shape.size());
  for (auto [d, target] : llvm::enumerate(identity))
    target = d;
  std::vector<const Array<T> *> inputs{&product};
  std::vector<llvm::ArrayRef<int64_t>> maps{identity};
  for (auto [i, extra] : llvm::enumerate(op.getExtras())) {
    inputs.push_back(&get(extra));
    maps.push_back(op.getMap(i));
  }
  if (llvm::Error error = apply(op.getBody().front(), inputs, maps, product.shape, result->get()))
    return error;
  return define(op.getResult(), std::move(*result));
}

template <typename T>
llvm::Error Machine<T>::exec(mlir::xf::EmbedOp op) {
  const Array<T> &table = get(op.getTable()), &ids = get(op.getIds());
  auto result = makeResult(op.getResult());
  if (!result)
    return result.takeError();
  int64_t rows = table.shape[0], width = table.shape[1];
  for (int64_t i = 0; i < ids.size(); ++i) {
    int64_t id = ids.ints[i];
    if (id < 0 || id >= rows)
      return makeError("id {} is outside the table of {} rows", id, rows);
    for (int64_t e = 0; e < width; ++e)
      (*result)->copy(i * width + e, table, id * width + e);
  }
  return define(op.getResult(), std::move(*result));
}

template class Machine<float>;
template class Machine<double>;

} // namespace xf
