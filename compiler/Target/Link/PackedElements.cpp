#include "compiler/Target/Link/PackedElements.h"

#include "runtime/abi/xf_abi.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>

using namespace mlir;

namespace xf {

void packPanels(llvm::ArrayRef<float> matrix, int64_t columns, int64_t group, std::vector<float> &panels) {
  constexpr int64_t width = XF_ABI_PANEL;
  int64_t rows = matrix.size() / columns, count = llvm::divideCeil(rows, width), depth = llvm::alignTo(columns, group);
  panels.assign(count * depth * width, 0.0f);
  for (int64_t n = 0; n < rows; ++n) {
    float *panel = panels.data() + n / width * depth * width + n % width * group;
    for (int64_t k = 0; k < columns; k += group)
      std::copy_n(matrix.data() + n * columns + k, std::min(group, columns - k), panel + k * width);
  }
}

template <typename T, typename F>
static llvm::ArrayRef<char> convert(llvm::ArrayRef<float> values, std::vector<char> &buffer, F one) {
  buffer.resize(values.size() * sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) {
    T value = one(values[i]);
    std::memcpy(buffer.data() + i * sizeof(T), &value, sizeof(T));
  }
  return buffer;
}

llvm::ArrayRef<char> bytesOf(llvm::ArrayRef<float> values, Type element, std::vector<char> &buffer) {
  if (element.isInteger(1))
    return convert<uint8_t>(values, buffer, [](float value) { return value != 0; });
  if (element.isInteger(8))
    return convert<int8_t>(values, buffer, [](float value) { return static_cast<int8_t>(value); });
  if (element.isInteger(16))
    return convert<int16_t>(values, buffer, [](float value) { return static_cast<int16_t>(value); });
  if (element.isF16())
    return convert<uint16_t>(values, buffer, [](float value) { return llvm::bit_cast<uint16_t>(static_cast<_Float16>(value)); });
  if (element.isBF16())
    return convert<uint16_t>(values, buffer, [](float value) { return llvm::bit_cast<uint32_t>(value) >> 16; });
  assert((element.isF32() || element.isInteger(32)) && "weights of other types are not made");
  return {reinterpret_cast<const char *>(values.data()), values.size() * sizeof(float)};
}

} // namespace xf
