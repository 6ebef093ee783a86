#include "compiler/Reference/WeightRows.h"

#include "compiler/Reference/Scalar.h"
#include "dialect/IR/Producers.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf {
namespace {

/// Rows of a parameter that are transposed at a time: their elements fill a cache line of each row that is written.
constexpr int64_t kTransposeBlock = 16;

/// The number of elements of a row, all dimensions but the first.
int64_t widthOf(Value value) { return ShapedType::getNumElements(typeOf(value).getShape().drop_front()); }

std::optional<Rearrangement> parse(RearrangeOp op) {
  auto pattern = Rearrangement::parse(op.getPattern(), [&] { return op.emitError(); });
  return succeeded(pattern) ? std::optional(*pattern) : std::nullopt;
}

/// Whether a rearrangement keeps the order of elements, and the first dimension as it is.
bool keepsRows(RearrangeOp op) {
  auto pattern = parse(op);
  auto order = [](ArrayRef<SmallVector<unsigned>> groups) {
    SmallVector<unsigned> axes;
    for (auto &group : groups)
      axes.append(group);
    return axes;
  };
  return pattern && !pattern->in.empty() && !pattern->out.empty() && pattern->in.front() == pattern->out.front() &&
         order(pattern->in) == order(pattern->out);
}

bool isParameter(Value value) {
  auto param = value.getDefiningOp<ParamOp>();
  return param && typeOf(value).getRank() > 0 && param->getParentOfType<ModuleOp>().lookupSymbol<ParameterOp>(param.getName());
}

bool areRows(Value rows) {
  return holdsForAll(rows, [&](Value part, llvm::SetVector<Value> &next) {
    Operation *op = part.getDefiningOp();
    if (isa<ParamOp>(op))
      return isParameter(part);
    auto rearrange = dyn_cast<RearrangeOp>(op);
    if (rearrange && isTransposition(rearrange))
      return isParameter(rearrange.getX());
    next.insert(op->operand_begin(), op->operand_end());
    if (auto concat = dyn_cast<ConcatOp>(op))
      return concat.getAxis() == 0;
    if (auto slice = dyn_cast<SliceOp>(op))
      return slice.getAxis() == 0 && slice.getStep() == 1;
    return rearrange ? keepsRows(rearrange) : isa<QuantizeOp>(op) && op->getNumResults() == 1;
  });
}

/// Reads the expression of one layer.
class Reader {
public:
  Reader(int64_t layer, const SymbolTable &symbols, ParameterSource &source) : layer(layer), symbols(symbols), source(source) {}

  llvm::Error read(Value value, int64_t first, MutableArrayRef<float> out) {
    Operation *op = value.getDefiningOp();
    if (auto param = dyn_cast<ParamOp>(op))
      return source.read(parameterOf(param), indicesOf(param), first * widthOf(value), out);
    if (auto slice = dyn_cast<SliceOp>(op))
      return read(slice.getX(), slice.getStart() + first, out);
    if (auto concat = dyn_cast<ConcatOp>(op))
      return readParts(concat, first, out);
    if (auto rearrange = dyn_cast<RearrangeOp>(op))
      return isTransposition(rearrange) ? readColumns(rearrange.getX().getDefiningOp<ParamOp>(), first, out) : read(rearrange.getX(), first, out);
    return readRounded(cast<QuantizeOp>(op), first, out);
  }

private:
  /// Looked up by an attribute: a string would have to be interned in the context, which threads share.
  ParameterOp parameterOf(ParamOp param) { return cast<ParameterOp>(symbols.lookup(param.getNameAttr().getAttr())); }
  SmallVector<int64_t> indicesOf(ParamOp param) const {
    return llvm::map_to_vector(param.getIndices(), [&](Value index) { return indexAt(index, layer); });
  }

  llvm::Error readParts(ConcatOp concat, int64_t first, MutableArrayRef<float> out) {
    for (Value input : concat.getInputs()) {
      int64_t rows = typeOf(input).getDimSize(0);
      if (first >= rows) {
        first -= rows;
        continue;
      }
      MutableArrayRef<float> part = out.take_front((rows - first) * widthOf(input));
      if (auto error = read(input, first, part))
        return error;
      out = out.drop_front(part.size());
      if (out.empty())
        break;
      first = 0;
    }
    return llvm::Error::success();
  }

  llvm::Error readColumns(ParamOp param, int64_t first, MutableArrayRef<float> out) {
    ParameterOp parameter = parameterOf(param);
    SmallVector<int64_t> indices = indicesOf(param);
    int64_t height = typeOf(param.getResult()).getDimSize(0), width = typeOf(param.getResult()).getDimSize(1),
            columns = height ? out.size() / height : 0;
    std::vector<float> block(kTransposeBlock * columns);
    for (int64_t k = 0; k < height; k += kTransposeBlock) {
      int64_t blockRows = std::min(kTransposeBlock, height - k);
      for (int64_t i = 0; i < blockRows; ++i)
        if (auto error = source.read(parameter, indices, (k + i) * width + first, MutableArrayRef(block).slice(i * columns, columns)))
          return error;
      for (int64_t n = 0; n < columns; ++n)
        for (int64_t i = 0; i < blockRows; ++i)
          out[n * height + k + i] = block[i * columns + n];
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

  int64_t layer;
  const SymbolTable &symbols;
  ParameterSource &source;
};

} // namespace

bool isTransposition(RearrangeOp op) {
  auto pattern = parse(op);
  return pattern && pattern->in == SmallVector<SmallVector<unsigned>>{{0}, {1}} && pattern->out == SmallVector<SmallVector<unsigned>>{{1}, {0}};
}

bool WeightRows::hasColumns() const {
  return !holdsForAll(rows, [](Value part, llvm::SetVector<Value> &next) {
    Operation *op = part.getDefiningOp();
    if (isa<ParamOp>(op))
      return true;
    next.insert(op->operand_begin(), op->operand_end());
    return !isa<RearrangeOp>(op) || !isTransposition(cast<RearrangeOp>(op));
  });
}

std::optional<WeightRows> findRows(WeightOp weight) {
  WeightRows found{weight.getBody().front().getTerminator()->getOperand(0)};
  // Scales may have been rearranged to a column, which is a matrix.
  while (auto rearrange = found.rows.getDefiningOp<RearrangeOp>()) {
    if (!keepsRows(rearrange))
      break;
    found.rows = rearrange.getX();
  }
  if (auto quantize = found.rows.getDefiningOp<QuantizeOp>(); quantize && quantize->getNumResults() > 1)
    found = {quantize.getX(), quantize, cast<OpResult>(found.rows).getResultNumber()};
  return areRows(found.rows) ? std::optional(found) : std::nullopt;
}

llvm::Error readRows(Value rows, int64_t layer, const SymbolTable &symbols, ParameterSource &source, int64_t first, MutableArrayRef<float> out) {
  return Reader(layer, symbols, source).read(rows, first, out);
}

int64_t indexAt(Value index, int64_t layer) {
  DenseMap<Value, int64_t> memo;
  auto find = [&](auto &&self, Value value) -> int64_t {
    APInt constant;
    if (matchPattern(value, m_ConstantInt(&constant)))
      return constant.getSExtValue();
    Operation *op = value.getDefiningOp();
    if (!op)
      return layer;
    if (auto found = memo.find(value); found != memo.end())
      return found->second;
    int64_t a = self(self, op->getOperand(0)), b = self(self, op->getOperand(1));
    return memo[value] = isa<arith::DivUIOp>(op) ? a / b : a % b;
  };
  return find(find, index);
}

} // namespace xf
