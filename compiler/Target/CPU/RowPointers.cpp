#include "compiler/Target/CPU/RowPointers.h"

using namespace mlir;

namespace xf::cpu {

static constexpr int64_t kRowsOfPointer = 6;

RowPointers::RowPointers(codegen::CodeBuilder &b, Value start, Value stride, Type element, int64_t rows) : b(b), element(element) {
  // Where LLVM could see how these are related, it would relate them in its own way.
  Value bytes = b.mul(stride, element.getIntOrFloatBitWidth() / 8);
  for (int64_t odd = 1; odd < std::min(rows, kRowsOfPointer); odd += 2)
    oddStrides.push_back(b.opaque(b.mul(bytes, odd)));
  for (int64_t row = 0; row < rows; row += kRowsOfPointer)
    starts.push_back(b.opaque(b.at(start, b.mul(stride, row), element)));
}

Value RowPointers::at(int64_t row, int64_t offset) {
  Value address = starts[row / kRowsOfPointer];
  if (int64_t distance = row % kRowsOfPointer) {
    int64_t power = distance & -distance;
    address = b.at(address, b.mul(oddStrides[distance / power / 2], power), b.getI8Type());
  }
  return b.at(address, offset, element);
}

void RowPointers::advance(Value elements) {
  for (Value &start : starts)
    start = b.opaque(b.at(start, elements, element));
}

SmallVector<Value> RowPointers::carriedWith(ValueRange sums) const {
  SmallVector<Value> values(sums);
  llvm::append_range(values, starts);
  return values;
}

ValueRange RowPointers::take(ValueRange values, SmallVectorImpl<Value> &sums) {
  ValueRange behind = values.drop_front(sums.size());
  llvm::copy(values.take_front(sums.size()), sums.begin());
  llvm::copy(behind.take_front(starts.size()), starts.begin());
  return behind.drop_front(starts.size());
}

} // namespace xf::cpu
