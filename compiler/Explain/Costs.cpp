#include "compiler/Explain/Costs.h"

#include "compiler/Conversion/XfToLLVM/MemoryPlan.h"
#include "compiler/Target/KernelOperands.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf {

Cost &Cost::operator+=(const Cost &other) {
  operations += other.operations;
  weightBytes += other.weightBytes;
  otherBytes += other.otherBytes;
  return *this;
}

double countElements(RankedTensorType type, const Sizes &sizes) {
  double count = 1;
  for (int64_t d = 0; d < type.getRank(); ++d) {
    auto known = sizes.find(getDimName(type, d));
    count *= !type.isDynamicDim(d) ? double(type.getDimSize(d)) : known == sizes.end() ? 1.0 : double(known->second);
  }
  return count;
}

namespace {

double bytesOf(Value value, const Sizes &sizes) {
  auto type = typeOf(value);
  return countElements(type, sizes) * double(elementBytes(type.getElementType()));
}

/// Counts the operations of a region for each element.
double countArithmetic(Region &region) {
  double count = 0;
  region.walk([&](Operation *op) { count += isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) && !isa<arith::ConstantOp>(op); });
  return count;
}

double lengthOfRow(RankedTensorType type, const Sizes &sizes) {
  int64_t last = type.getRank() - 1;
  return double(type.isDynamicDim(last) ? std::max<int64_t>(1, sizes.lookup(getDimName(type, last))) : type.getDimSize(last));
}

double countRows(Value value, const Sizes &sizes) { return countElements(typeOf(value), sizes) / lengthOfRow(typeOf(value), sizes); }

/// Counts a row op for all rows; its body is written for one.
double rowOperations(RowOp row, const Sizes &sizes) {
  double count = 0;
  row->walk([&](Operation *op) {
    if (auto map = dyn_cast<MapOp>(op))
      count += countArithmetic(map->getRegion(0)) * countElements(typeOf(map->getResult(0)), sizes);
    else if (isa<ReduceOp, QuantizeOp>(op))
      count += countElements(typeOf(op->getOperand(0)), sizes);
  });
  return count * countRows(row->getResult(0), sizes);
}

/// The bytes of the rows that are looked up in a table: only these are read.
double lookupBytes(RowOp row, Value table, const Sizes &sizes) {
  double bytes = 0;
  row->walk([&](EmbedOp embed) {
    if (embed.getTable() == table)
      bytes += countRows(row->getResult(0), sizes) * bytesOf(embed.getResult(), sizes);
  });
  return bytes;
}

} // namespace

Cost costOf(Operation *op, const Sizes &sizes) {
  Cost cost;
  llvm::SmallPtrSet<void *, 8> seen;
  for (const codegen::KernelOperand &operand : codegen::kernelOperands(op)) {
    if (!seen.insert(operand.value.getAsOpaquePointer()).second)
      continue;
    bool isParameter = operand.value.getDefiningOp<ParamOp>() != nullptr;
    auto row = dyn_cast<RowOp>(op);
    double lookup = row ? lookupBytes(row, operand.value, sizes) : 0;
    (isParameter ? cost.weightBytes : cost.otherBytes) += lookup > 0 ? lookup : bytesOf(operand.value, sizes);
  }
  // The result of an append is the whole state, of which it writes only its operand; a store has no result.
  if (isa<AppendOp, StoreOp>(op))
    cost.otherBytes += bytesOf(op->getOperand(0), sizes);
  else
    for (Value result : op->getResults())
      cost.otherBytes += bytesOf(result, sizes);
  auto product = [&](Value x, Value weight) { return 2 * countRows(x, sizes) * countElements(typeOf(weight), sizes); };
  if (auto contract = dyn_cast<ContractOp>(op)) {
    cost.operations = product(contract.getX(), contract.getWeight()) +
                      countArithmetic(contract->getRegion(0)) * countElements(typeOf(contract->getResult(0)), sizes);
  } else if (auto choose = dyn_cast<ChooseOp>(op)) {
    cost.operations = product(choose.getX(), choose.getWeight());
    if (!choose.getScreen().empty()) // only a few rows of the weights themselves are read, and no int16 copy, which is for sums
      cost.weightBytes -= bytesOf(choose.getWeight(), sizes);
    for (Value int16Copy : choose.getWords())
      cost.weightBytes -= bytesOf(int16Copy, sizes);
  } else if (auto attend = dyn_cast<AttendOp>(op)) {
    auto q = typeOf(attend.getQ()), k = typeOf(attend.getK()), v = typeOf(attend.getV());
    double width = double(q.getShape().back());
    double keys = countElements(k, sizes) / countElements(withDim(k, 2, 1, ""), sizes);
    double scores = countElements(q, sizes) / width * keys;
    cost.operations = scores * (2 * (width + double(v.getShape().back())) + countArithmetic(attend.getScore()));
  } else if (isa<ScanOp, ScanStepOp>(op)) {
    cost.operations = countArithmetic(op->getRegion(0)) * countElements(typeOf(op->getResult(0)), sizes);
  } else if (auto row = dyn_cast<RowOp>(op)) {
    cost.operations = rowOperations(row, sizes);
  }
  return cost;
}

} // namespace xf
