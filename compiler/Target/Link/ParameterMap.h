// Where each checkpoint tensor's rows lie in the packed weights.
//
// A packed weight that merely copies, stacks or cuts rows of parameters holds them whole, so that a tool can read them back
// and nothing is stored twice. Of a quantised weight it reads what the program computes with. What no weight holds whole (it was folded into
// something else) is stored beside them as it is.
#ifndef XF_COMPILER_TARGET_LINK_PARAMETERMAP_H
#define XF_COMPILER_TARGET_LINK_PARAMETERMAP_H

#include "compiler/Conversion/XfToLLVM/DataLayout.h"

#include "runtime/abi/xf_abi.h"

namespace xf {

/// One tensor of the checkpoint, or a table that may come from one.
struct StoredParameter {
  mlir::xf::ParameterOp parameter;
  llvm::SmallVector<int64_t> indices;
  std::string path;
  llvm::SmallVector<xf_abi_segment> segments;
  /// Set if no weight holds it: its offset in the weights range.
  std::optional<int64_t> raw;
};

/// All parameters of `module` (kernel IR), and in `bytes` the size of the weights range with what is stored beside.
std::vector<StoredParameter> mapParameters(mlir::ModuleOp module, const DataLayout &layout, int64_t &bytes);

} // namespace xf

#endif // XF_COMPILER_TARGET_LINK_PARAMETERMAP_H
