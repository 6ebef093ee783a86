#include "tools/xf-run/ImageParameters.h"

#include "compiler/Import/Error.h"

#include "llvm/ADT/bit.h"

using namespace mlir::xf;

namespace xf {

ImageParameters::ImageParameters(std::shared_ptr<const rt::model> model) : model(std::move(model)) {
  for (const rt::parameter_info &parameter : this->model->parameters())
    byPath[parameter.path] = &parameter;
}

llvm::Error ImageParameters::read(ParameterOp parameter, llvm::ArrayRef<int64_t> indices, int64_t first, llvm::MutableArrayRef<float> out) {
  if (!parameter.getPath())
    return evaluateTable(parameter, first, out);
  std::string path = expandPath(parameter, indices);
  const rt::parameter_info *info = byPath.lookup(path);
  auto type = parameter.getTensorType();
  if (!info || llvm::ArrayRef<int64_t>(info->size) != type.getShape())
    return makeError("the image does not hold the parameter '{}'", path);
  int64_t columns = type.getRank() == 0 ? 1 : type.getShape().back(), end = first + static_cast<int64_t>(out.size());
  for (const xf_abi_segment &segment : info->segments) {
    const uint8_t *packed = model->weights() + segment.weight_offset;
    auto *scales = reinterpret_cast<const float *>(model->weights() + segment.scale_offset);
    int64_t group = segment.dtype == XF_ABI_I8 ? 4 : segment.dtype == XF_ABI_BF16 || segment.dtype == XF_ABI_F16 ? 2 : 1;
    bool isTransposed = segment.layout == XF_ABI_COLUMN_PANELS;
    int64_t depth = ((isTransposed ? segment.rows : columns) + group - 1) / group * group;
    int64_t from = segment.row * columns, to = (segment.row + segment.rows) * columns;
    for (int64_t i = std::max(first, from); i < std::min(end, to); ++i) {
      int64_t r = (i - from) / columns, c = (i - from) % columns;
      // The position in the packed matrix.
      uint64_t row = segment.weight_row + (isTransposed ? c : r), k = isTransposed ? r : c;
      uint64_t offset = segment.layout == XF_ABI_PLAIN
                            ? row * columns + k
                            : (row / XF_ABI_PANEL * depth + k / group * group) * XF_ABI_PANEL + row % XF_ABI_PANEL * group + k % group;
      float &value = out[i - first];
      if (segment.dtype == XF_ABI_I8)
        value = scales[row] * static_cast<int8_t>(packed[offset]);
      else if (segment.dtype == XF_ABI_BF16)
        value = llvm::bit_cast<float>(uint32_t(reinterpret_cast<const uint16_t *>(packed)[offset]) << 16);
      else if (segment.dtype == XF_ABI_F16)
        value = static_cast<float>(reinterpret_cast<const _Float16 *>(packed)[offset]);
      else
        value = reinterpret_cast<const float *>(packed)[offset];
    }
  }
  return llvm::Error::success();
}

} // namespace xf
