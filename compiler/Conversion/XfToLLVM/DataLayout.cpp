#include "compiler/Conversion/XfToLLVM/DataLayout.h"

#include "compiler/Conversion/XfToLLVM/MemoryPlan.h"
#include "compiler/Transforms/Layouts.h"
#include "dialect/IR/ModuleRoles.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf {

static constexpr int64_t kAlignment = 64;

/// The innermost axis of a row's tensor along which a search appends positions, or none. Packed rows have it after their heads.
static std::optional<unsigned> positionsAxis(StateOp state) {
  auto type = state.getTensorType();
  ModuleRoles generate(state->getParentOfType<ModuleOp>(), kGenerateAttr);
  StringRef target = generate.name("target");
  for (int64_t i = type.getRank() - 1; !target.empty() && i >= 1; --i)
    if (type.isDynamicDim(i) && getDimName(type, i) == target)
      return i;
  return std::nullopt;
}

uint32_t dtypeOf(Type element) {
  if (element.isF32())
    return XF_ABI_F32;
  if (element.isBF16())
    return XF_ABI_BF16;
  if (element.isF16())
    return XF_ABI_F16;
  return element.isInteger(1) ? XF_ABI_I1 : element.isInteger(8) ? XF_ABI_I8 : XF_ABI_I32;
}

xf_abi_state describeState(StateOp state, const DataLayout &layout) {
  auto type = state.getTensorType();
  xf_abi_state result{};
  result.layers = state.getLayers();
  result.per_sentence = state.getSentences();
  result.dtype = dtypeOf(type.getElementType());
  result.rank = type.getRank() - 1;
  std::optional<unsigned> positions = positionsAxis(state);
  result.positions = positions ? int32_t(*positions) - 1 : -1;
  for (unsigned axis = 0; axis < result.rank; ++axis) {
    Monomial size = paddedStateSize(state, axis + 1);
    result.size[axis] = size.isConstant() ? size.coefficient : -int64_t(layout.dims.lookup(size.extents[0].dim)) - 1;
    result.multiple[axis] = size.isConstant() ? 1 : size.extents[0].multiple;
  }
  return result;
}

DataLayout layOutData(ModuleOp module) {
  DataLayout layout;
  auto allocateWeight = [&](Operation *op, int64_t size, int64_t layers) {
    int64_t stride = llvm::alignTo(size, kAlignment);
    layout.weights[op] = {layout.weightBytes, stride, layers};
    layout.weightBytes += stride * layers;
  };
  llvm::SetVector<Operation *> read;
  module.walk([&](EntryOp entry) {
    entry.walk([&](ParamOp param) {
      Operation *symbol = module.lookupSymbol(param.getNameAttr());
      read.insert(symbol);
      if (auto weight = dyn_cast<WeightOp>(symbol); weight && weight.getScales())
        read.insert(module.lookupSymbol(weight.getScalesAttr()));
    });
  });
  // In the module's order: a stack's weights lie as its layers use them.
  for (Operation &op : *module.getBody()) {
    if (!read.contains(&op))
      continue;
    if (auto weight = dyn_cast<WeightOp>(op)) {
      RankedTensorType type = weight.getTensorType();
      allocateWeight(&op, elementsOf(type, weight.getLayout()).upperBound(module) * elementBytes(type.getElementType()), weight.getLayers());
    } else if (auto parameter = dyn_cast<ParameterOp>(op)) {
      int64_t layers = 1;
      for (int64_t count : parameter.getCounts())
        layers *= count;
      allocateWeight(&op, parameter.getTensorType().getNumElements() * 4, layers);
    }
  }
  SmallVector<int64_t> dimBounds;
  if (auto bounds = module->getAttrOfType<DictionaryAttr>(kBoundsAttr))
    for (auto [i, bound] : llvm::enumerate(bounds)) {
      layout.dims[bound.getName().getValue()] = i;
      dimBounds.push_back(cast<IntegerAttr>(bound.getValue()).getInt());
    }
  for (auto state : module.getOps<StateOp>()) {
    layout.states.insert(state);
    xf_abi_state described = describeState(state, layout);
    int64_t rows = sizeOf(state.getTensorType(), 0).upperBound(module);
    layout.stateBytes += state.getLayers() * llvm::alignTo(rows * xf_abi_state_row_bytes(&described, dimBounds.data()), kAlignment);
  }
  return layout;
}

} // namespace xf
