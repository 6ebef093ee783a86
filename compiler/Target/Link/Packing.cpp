#include "compiler/Target/Link/Packing.h"

#include "compiler/Import/Error.h"
#include "compiler/Reference/Interpreter.h"
#include "compiler/Reference/WeightRows.h"

#include "llvm/ADT/bit.h"

#include <cmath>

using namespace mlir;
using namespace mlir::xf;

namespace xf {

void packPanels(ArrayRef<float> matrix, int64_t rows, int64_t columns, int64_t group, std::vector<float> &panels) {
  constexpr int64_t width = XF_ABI_PANEL;
  int64_t count = (rows + width - 1) / width, depth = llvm::alignTo(columns, group);
  panels.assign(count * depth * width, 0.0f);
  for (int64_t n = 0; n < rows; ++n) {
    float *panel = panels.data() + n / width * depth * width + n % width * group;
    for (int64_t k = 0; k < columns; k += group)
      std::copy_n(matrix.data() + n * columns + k, std::min(group, columns - k), panel + k * width);
  }
}

namespace {

/// Writes at increasing offsets, zeros between.
class OffsetWriter {
public:
  explicit OffsetWriter(llvm::raw_ostream &out) : out(out) {}
  void moveTo(int64_t offset) {
    assert(offset >= position && "weights are written in order");
    out.write_zeros(offset - position);
    position = offset;
  }
  void write(ArrayRef<float> values) {
    out.write(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(float));
    position += values.size() * sizeof(float);
  }
  /// As elements of another type, which they are exactly; of i32 they are the bits.
  void write(ArrayRef<float> values, Type element) {
    if (element.isF32() || element.isInteger(32))
      return write(values);
    if (element.isInteger(1))
      return convert<uint8_t>(values, [](float value) { return value != 0; });
    if (element.isInteger(8))
      return convert<int8_t>(values, [](float value) { return static_cast<int8_t>(value); });
    if (element.isInteger(16))
      return convert<int16_t>(values, [](float value) { return static_cast<int16_t>(value); });
    if (element.isF16())
      return convert<uint16_t>(values, [](float value) { return llvm::bit_cast<uint16_t>(static_cast<_Float16>(value)); });
    assert(element.isBF16() && "weights of other types are not made");
    convert<uint16_t>(values, [](float value) { return llvm::bit_cast<uint32_t>(value) >> 16; });
  }

private:
  template <typename T, typename F>
  void convert(ArrayRef<float> values, F one) {
    std::vector<T> converted(values.size());
    llvm::transform(values, converted.begin(), one);
    out.write(reinterpret_cast<const char *>(converted.data()), converted.size() * sizeof(T));
    position += converted.size() * sizeof(T);
  }

  llvm::raw_ostream &out;
  int64_t position = 0;
};

/// Elements that are computed and packed at a time; of a matrix whole panels.
constexpr int64_t kPiece = 1 << 18;

class WeightWriter {
public:
  WeightWriter(ParameterSource &source, llvm::raw_ostream &out) : source(source), writer(out) {}

  void moveTo(int64_t offset) { writer.moveTo(offset); }

  llvm::Error write(ParameterOp parameter, ArrayRef<int64_t> indices) {
    int64_t count = parameter.getTensorType().getNumElements();
    for (int64_t first = 0; first < count; first += kPiece) {
      rows.resize(std::min(kPiece, count - first));
      if (auto error = source.read(parameter, indices, first, rows))
        return error;
      writer.write(rows);
    }
    return llvm::Error::success();
  }

  llvm::Error write(WeightOp weight, int64_t layer) {
    auto type = weight.getTensorType();
    bool isByRows = hasRows(weight);
    int64_t count = type.getNumElements(), width = count && type.getRank() ? count / type.getDimSize(0) : 1;
    int64_t piece = std::max<int64_t>(1, kPiece / XF_ABI_PANEL / width) * XF_ABI_PANEL * width;
    std::vector<float> whole(isByRows ? 0 : count);
    if (!isByRows)
      if (auto error = evaluateWeight(weight, layer, source, whole))
        return error;
    for (int64_t first = 0; first < count; first += piece) {
      int64_t some = std::min(piece, count - first);
      rows.resize(isByRows ? some : 0);
      if (isByRows)
        if (auto error = evaluateRows(weight, layer, source, first / width, rows))
          return error;
      if (auto error = write(weight, isByRows ? ArrayRef(rows) : ArrayRef(whole).slice(first, some)))
        return error;
    }
    return llvm::Error::success();
  }

private:
  /// Rows of a weight, whole panels but for the last one.
  llvm::Error write(WeightOp weight, ArrayRef<float> values) {
    auto type = weight.getTensorType();
    Type element = type.getElementType();
    if ((element.isF16() || element.isBF16()) && llvm::any_of(values, [](float value) { return std::isinf(value); }))
      return makeError("a weight is beyond the largest number of {}", element.isF16() ? "f16, 65504: --type bf16 has the range of f32" : "bf16, 3.3895e38");
    if (weight.getLayout() == Layout::panels) {
      int64_t columns = type.getDimSize(1);
      packPanels(values, values.size() / columns, columns, panelGroup(element), packed);
      values = packed;
    }
    writer.write(values, element);
    return llvm::Error::success();
  }

  ParameterSource &source;
  OffsetWriter writer;
  std::vector<float> rows, packed;
};

} // namespace

llvm::Error writeWeights(ModuleOp module, const DataLayout &layout, ArrayRef<StoredParameter> stored, int64_t bytes,
                         ParameterSource &source, llvm::raw_ostream &out) {
  WeightWriter writer(source, out);
  for (auto &[op, place] : layout.weights) {
    if (auto parameter = dyn_cast<ParameterOp>(op)) {
      llvm::Error error = llvm::Error::success();
      int64_t number = 0;
      forEachIndices(parameter, [&](ArrayRef<int64_t> indices) {
        if (error)
          return;
        writer.moveTo(place.offset + place.stride * number++);
        error = writer.write(parameter, indices);
      });
      if (error)
        return error;
      continue;
    }
    for (int64_t layer = 0; layer < place.layers; ++layer) {
      writer.moveTo(place.offset + place.stride * layer);
      if (auto error = writer.write(cast<WeightOp>(op), layer))
        return error;
    }
  }
  for (const StoredParameter &parameter : stored)
    if (parameter.raw) {
      writer.moveTo(*parameter.raw);
      if (auto error = writer.write(parameter.parameter, parameter.indices))
        return error;
    }
  writer.moveTo(bytes);
  return llvm::Error::success();
}

} // namespace xf
