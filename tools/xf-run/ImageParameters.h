// The parameters of a compiled model, read back from its packed weights: what `--reference` computes with.
#ifndef XF_TOOLS_XFRUN_IMAGEPARAMETERS_H
#define XF_TOOLS_XFRUN_IMAGEPARAMETERS_H

#include "compiler/Import/ParameterSource.h"

#include "runtime/core/model.h"

namespace xf {

class ImageParameters : public ParameterSource {
public:
  explicit ImageParameters(std::shared_ptr<const rt::model> model);
  llvm::Error read(mlir::xf::ParameterOp parameter, llvm::ArrayRef<int64_t> indices, int64_t first, llvm::MutableArrayRef<float> out) override;

private:
  std::shared_ptr<const rt::model> model;
  llvm::StringMap<const rt::parameter_info *> byPath;
};

} // namespace xf

#endif // XF_TOOLS_XFRUN_IMAGEPARAMETERS_H
