#include "tools/xf-run/ImageParameters.h"

#include "compiler/Import/Error.h"

using namespace mlir::xf;

namespace xf {

ImageParameters::ImageParameters(std::shared_ptr<const rt::model> model) : model(std::move(model)) {
  for (const rt::parameter_info &parameter : this->model->parameters())
    byPath[parameter.path] = &parameter;
}

llvm::Error ImageParameters::read(ParameterOp parameter, llvm::ArrayRef<int64_t> indices, llvm::MutableArrayRef<float> out) {
  if (!parameter.getPath())
    return evaluateTable(parameter, out);
  std::string path = expandPath(parameter, indices);
  const rt::parameter_info *info = byPath.lookup(path);
  auto type = parameter.getTensorType();
  if (!info || llvm::ArrayRef<int64_t>(info->size) != type.getShape())
    return makeError("the image does not hold the parameter '{}'", path);
  int64_t columns = type.getRank() == 0 ? 1 : type.getShape().back();
  for (const xf_abi_segment &segment : info->segments) {
    auto *packed = reinterpret_cast<const float *>(model->weights() + segment.weight_offset);
    for (uint64_t r = 0; r < segment.rows; ++r) {
      uint64_t row = segment.weight_row + r;
      float *to = out.data() + (segment.row + r) * columns;
      for (int64_t c = 0; c < columns; ++c)
        to[c] = segment.layout == XF_ABI_PLAIN
                    ? packed[row * columns + c]
                    : packed[(row / XF_ABI_PANEL * columns + c) * XF_ABI_PANEL + row % XF_ABI_PANEL];
    }
  }
  return llvm::Error::success();
}

} // namespace xf
