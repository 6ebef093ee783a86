#include "compiler/Conversion/XfToLLVM/DataLayout.h"

#include "compiler/Conversion/XfToLLVM/MemoryPlan.h"
#include "compiler/Transforms/Layouts.h"
#include "runtime/abi/xf_abi.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf {

// States begin with a page, so that the first positions of a head touch as few as they can.
static constexpr int64_t kAlignment = 64, kStateAlignment = XF_ABI_PAGE;

int64_t stateRows(StateOp state, ModuleOp module) {
  auto type = state.getTensorType();
  return sizeOf(type, 0).most(module);
}

int64_t stateRowBytes(StateOp state, ModuleOp module) {
  auto type = state.getTensorType();
  return elementsOf(type, state.getLayout()).most(module) / stateRows(state, module) * elementBytes(type.getElementType());
}

DataLayout layOutData(ModuleOp module) {
  DataLayout layout;
  auto place = [](auto &map, int64_t &bytes, Operation *op, int64_t size, int64_t layers, int64_t alignment = kAlignment) {
    int64_t stride = llvm::alignTo(size, alignment);
    map[op] = {bytes, stride, layers};
    bytes += stride * layers;
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
      place(layout.weights, layout.weightBytes, &op,
            elementsOf(weight.getTensorType(), weight.getLayout()).most(module) * elementBytes(weight.getTensorType().getElementType()),
            weight.getLayers());
    } else if (auto parameter = dyn_cast<ParameterOp>(op)) {
      int64_t layers = 1;
      for (int64_t count : parameter.getCounts())
        layers *= count;
      place(layout.weights, layout.weightBytes, &op, parameter.getTensorType().getNumElements() * 4, layers);
    }
  }
  for (auto state : module.getOps<StateOp>())
    place(layout.states, layout.stateBytes, state, stateRows(state, module) * stateRowBytes(state, module), state.getLayers(), kStateAlignment);
  if (auto bounds = module->getAttrOfType<DictionaryAttr>(kBoundsAttr))
    for (auto [i, bound] : llvm::enumerate(bounds))
      layout.dims[bound.getName().getValue()] = i;
  return layout;
}

} // namespace xf
