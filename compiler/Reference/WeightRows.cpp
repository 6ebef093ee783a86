#include "compiler/Reference/WeightRows.h"

#include "compiler/Reference/QuantizedRow.h"
#include "compiler/Reference/Scalar.h"
#include "dialect/IR/Producers.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf {
namespace {

/// Elements that are widened at a time for results of which a row has one.
constexpr int64_t kPiece = 1 << 16;

/// The elements behind each other for each number along the first dimension.
int64_t widthOf(RankedTensorType type) { return ShapedType::getNumElements(type.getShape().drop_front()); }

Value resultOf(WeightOp weight) { return weight.getBody().front().getTerminator()->getOperand(0); }

/// Whether what is rearranged has the same elements behind each other, and along the first dimension the same ones.
bool keepsRows(RearrangeOp op) {
  auto pattern = Rearrangement::parse(op.getPattern(), [&] { return op.emitError(); });
  auto order = [](ArrayRef<SmallVector<unsigned>> groups) {
    SmallVector<unsigned> axes;
    for (auto &group : groups)
      axes.append(group);
    return axes;
  };
  return succeeded(pattern) && !pattern->in.empty() && !pattern->out.empty() && pattern->in.front() == pattern->out.front() &&
         order(pattern->in) == order(pattern->out);
}

/// The expression of one layer.
class Reader {
public:
  Reader(ModuleOp module, int64_t layer, ParameterSource &source) : module(module), layer(layer), source(source) {}

  llvm::Error read(Value value, int64_t first, MutableArrayRef<float> out) {
    Operation *op = value.getDefiningOp();
    if (auto param = dyn_cast<ParamOp>(op)) {
      auto indices = llvm::map_to_vector(param.getIndices(), [&](Value index) { return indexAt(index, layer); });
      return source.read(module.lookupSymbol<ParameterOp>(param.getName()), indices, first * widthOf(typeOf(value)), out);
    }
    if (auto slice = dyn_cast<SliceOp>(op))
      return read(slice.getX(), slice.getStart() + first, out);
    if (auto concat = dyn_cast<ConcatOp>(op))
      return readParts(concat, first, out);
    if (auto rearrange = dyn_cast<RearrangeOp>(op))
      return read(rearrange.getX(), first, out);
    auto quantize = cast<QuantizeOp>(op);
    if (quantize.getNumResults() == 1)
      return readRounded(quantize, first, out);
    return quantize.isBounded() && value == quantize->getResults().back() ? readMean(quantize, first, out)
                                                                         : readQuantized(quantize, cast<OpResult>(value).getResultNumber(), first, out);
  }

private:
  llvm::Error readParts(ConcatOp concat, int64_t first, MutableArrayRef<float> out) {
    for (Value input : concat.getInputs()) {
      int64_t rows = typeOf(input).getDimSize(0);
      if (first >= rows) {
        first -= rows;
        continue;
      }
      MutableArrayRef<float> part = out.take_front((rows - first) * widthOf(typeOf(input)));
      if (auto error = read(input, first, part))
        return error;
      out = out.drop_front(part.size());
      if (out.empty())
        break;
      first = 0;
    }
    return llvm::Error::success();
  }

  llvm::Error readRounded(QuantizeOp quantize, int64_t first, MutableArrayRef<float> out) {
    if (auto error = read(quantize.getX(), first, out))
      return error;
    auto round = typeOf(quantize->getResult(0)).getElementType().isF16() ? roundToF16 : roundToBF16;
    for (float &value : out)
      value = round(value);
    return llvm::Error::success();
  }

  /// Hands over rows [first, first + count) of what is quantised, one by one.
  llvm::Error forEachRow(QuantizeOp quantize, int64_t first, int64_t count, llvm::function_ref<void(ArrayRef<float>)> take) {
    int64_t depth = typeOf(quantize.getX()).getDimSize(1), step = std::max<int64_t>(1, kPiece / std::max<int64_t>(1, depth));
    std::vector<float> rows(std::min(step, count) * depth);
    for (int64_t done = 0; done < count; done += step) {
      int64_t some = std::min(step, count - done);
      if (auto error = read(quantize.getX(), first + done, MutableArrayRef(rows).take_front(some * depth)))
        return error;
      for (int64_t r = 0; r < some; ++r)
        take(ArrayRef(rows).slice(r * depth, depth));
    }
    return llvm::Error::success();
  }

  llvm::Error readQuantized(QuantizeOp quantize, unsigned number, int64_t first, MutableArrayRef<float> out) {
    // Words have no sums.
    enum { elements, scales, sums, lengths, errors };
    unsigned kind = quantize.isToWords() && number >= sums ? number + 1 : number;
    int64_t width = widthOf(typeOf(quantize->getResult(number)));
    return forEachRow(quantize, first, width ? out.size() / width : 0, [&](ArrayRef<float> x) {
      QuantizedRow row(x, quantize.isToWords());
      for (int64_t k = 0; kind == elements && k < width; ++k)
        out[k] = row.element(k);
      if (kind == scales)
        out[0] = row.getScale();
      else if (kind == sums)
        out[0] = llvm::bit_cast<float>(static_cast<int32_t>(row.sum()));
      else if (kind == lengths)
        out[0] = lengthOf(x);
      else if (kind == errors)
        out[0] = row.error();
      out = out.drop_front(width);
    });
  }

  /// It has one element for each column, of all rows.
  llvm::Error readMean(QuantizeOp quantize, int64_t first, MutableArrayRef<float> out) {
    auto type = typeOf(quantize.getX());
    MeanRow mean(type.getDimSize(1));
    auto error = forEachRow(quantize, 0, type.getDimSize(0), [&](ArrayRef<float> row) { mean.add(row); });
    for (float &value : out)
      value = mean.element(first++);
    return error;
  }

  ModuleOp module;
  int64_t layer;
  ParameterSource &source;
};

} // namespace

bool hasRows(WeightOp weight) {
  auto module = weight->getParentOfType<ModuleOp>();
  return holdsForAll(resultOf(weight), [&](Value part, llvm::SetVector<Value> &next) {
    Operation *op = part.getDefiningOp();
    if (auto param = dyn_cast<ParamOp>(op))
      return typeOf(part).getRank() > 0 && module.lookupSymbol<ParameterOp>(param.getName());
    next.insert(op->operand_begin(), op->operand_end());
    if (auto concat = dyn_cast<ConcatOp>(op))
      return concat.getAxis() == 0;
    if (auto slice = dyn_cast<SliceOp>(op))
      return slice.getAxis() == 0 && slice.getStep() == 1;
    auto rearrange = dyn_cast<RearrangeOp>(op);
    return rearrange ? keepsRows(rearrange) : isa<QuantizeOp>(op);
  });
}

llvm::Error evaluateRows(WeightOp weight, int64_t layer, ParameterSource &source, int64_t first, MutableArrayRef<float> out) {
  return Reader(weight->getParentOfType<ModuleOp>(), layer, source).read(resultOf(weight), first, out);
}

int64_t indexAt(Value index, int64_t layer) {
  DenseMap<Value, int64_t> known;
  auto find = [&](auto &&self, Value value) -> int64_t {
    APInt constant;
    if (matchPattern(value, m_ConstantInt(&constant)))
      return constant.getSExtValue();
    Operation *op = value.getDefiningOp();
    if (!op)
      return layer;
    if (auto there = known.find(value); there != known.end())
      return there->second;
    int64_t a = self(self, op->getOperand(0)), b = self(self, op->getOperand(1));
    return known[value] = isa<arith::DivUIOp>(op) ? a / b : a % b;
  };
  return find(find, index);
}

} // namespace xf
