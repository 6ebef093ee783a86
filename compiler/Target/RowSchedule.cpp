#include "compiler/Target/RowSchedule.h"

#include "compiler/Target/RegionVectorizer.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf::codegen {

bool RowSchedule::isRow(Value value) { return cast<RankedTensorType>(value.getType()).getDimSize(0) != 1; }

bool RowSchedule::isInPanels(Value table, ModuleOp root) {
  auto param = table.getDefiningOp<ParamOp>();
  auto weight = param ? root.lookupSymbol<WeightOp>(param.getName()) : WeightOp();
  return weight && weight.getLayout() == Layout::panels;
}

RowSchedule::RowSchedule(RowOp op, ModuleOp root) : op(op), root(root) {
  Block &body = op.getBody().front();
  auto reserve = [&](unsigned pass) {
    numPasses = std::max(numPasses, pass + 1);
    reductionsOf.resize(numPasses);
    storesOf.resize(numPasses);
  };
  for (Operation &inner : body.without_terminator()) {
    unsigned highest = 0;
    for (Value operand : inner.getOperands())
      highest = std::max(highest, level(operand));
    auto reduce = dyn_cast<ReduceOp>(inner);
    if (reduce && isRow(reduce.getX())) {
      reserve(highest);
      reductionsOf[highest].push_back(reduce);
      ++highest;
    }
    for (Value result : inner.getResults())
      levels[result] = highest;
  }
  for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands()))
    if (isRow(value)) {
      reserve(level(value));
      storesOf[level(value)].push_back(i);
    }
  for (unsigned pass = 0; pass < numPasses; ++pass) {
    for (ReduceOp reduce : reductionsOf[pass])
      visit(reduce.getX(), pass);
    for (unsigned i : storesOf[pass])
      visit(body.getTerminator()->getOperand(i), pass);
  }
}

bool RowSchedule::isExpensive(Value value) const {
  Operation *producer = value.getDefiningOp();
  if (auto embed = dyn_cast_or_null<EmbedOp>(producer))
    return isInPanels(embed.getTable(), root);
  auto map = dyn_cast_or_null<MapOp>(producer);
  if (!map)
    return false;
  return llvm::any_of(map.getBody().front(),
                      [](Operation &inner) { return isa<math::MathDialect>(inner.getDialect()) && !isa<math::AbsFOp, math::FmaOp>(inner); });
}

std::optional<unsigned> RowSchedule::storedAs(Value value) {
  if (!value.getDefiningOp())
    return std::nullopt;
  for (auto [i, operand] : llvm::enumerate(op.getBody().front().getTerminator()->getOperands()))
    if (operand == value)
      return i;
  return std::nullopt;
}

std::optional<unsigned> RowSchedule::scratchRow(Value value) const {
  auto found = cached.find(value);
  return found == cached.end() ? std::nullopt : std::optional<unsigned>(found->second);
}

/// Notes that `pass` needs `value`, and what it is computed from.
void RowSchedule::visit(Value value, unsigned pass) {
  Operation *producer = value.getDefiningOp();
  if (!producer || !isRow(value))
    return;
  unsigned first = firstPass.try_emplace(value, pass).first->second;
  if (first < pass) {
    if (storedAs(value))
      return;
    if (isExpensive(value)) {
      cached.insert({value, cached.size()});
      return;
    }
  }
  if (auto map = dyn_cast<MapOp>(producer))
    for (Value operand : map.getInputs())
      visit(operand, pass);
}

void RowSchedule::emitScalars(CodeBuilder &b, unsigned atLevel, llvm::DenseMap<Value, Value> &scalars, llvm::function_ref<Value(EmbedOp)> tableRow) {
  for (Operation &inner : op.getBody().front().without_terminator()) {
    if (level(inner.getResult(0)) != atLevel)
      continue;
    if (auto embed = dyn_cast<EmbedOp>(inner)) {
      Value row = tableRow(embed);
      if (!isRow(embed.getResult()))
        scalars[embed.getResult()] = b.load(cast<RankedTensorType>(embed.getResult().getType()).getElementType(), row);
    } else if (auto reduce = dyn_cast<ReduceOp>(inner)) {
      if (!isRow(reduce.getX()))
        scalars[reduce.getResult()] = scalars.lookup(reduce.getX());
    } else if (auto map = dyn_cast<MapOp>(inner); map && !isRow(map.getResult(0))) {
      RegionVectorizer region(b);
      for (auto [argument, input] : llvm::zip(map.getBody().getArguments(), map.getInputs()))
        region.bind(argument, scalars.lookup(input));
      for (auto [result, value] : llvm::zip(map.getResults(), region.emitYields(map.getBody().front())))
        scalars[result] = value;
    }
  }
}

} // namespace xf::codegen
