// The signatures of a module's entries.
#include "compiler/Reference/ReferenceEngine.h"

namespace xf {

static Engine::Port portOf(llvm::StringRef name, mlir::Type type) {
  auto tensor = llvm::cast<mlir::RankedTensorType>(type);
  mlir::Type element = tensor.getElementType();
  Tensor::Kind kind = llvm::isa<mlir::FloatType>(element) ? Tensor::Kind::Float : element.isInteger(1) ? Tensor::Kind::Bool : Tensor::Kind::Int;
  return {name.str(), kind, tensor.getRank()};
}

std::vector<Engine::Entry> ReferenceEngine::entries() {
  std::vector<Entry> list;
  for (auto op : module.getOps<mlir::xf::EntryOp>()) {
    if (op.getKind() != mlir::xf::EntryKind::full)
      continue;
    Entry entry{op.getSymName().str(), {}, {}};
    for (auto [i, type] : llvm::enumerate(op.getArgumentTypes()))
      entry.inputs.push_back(portOf(op.getArgName(i), type));
    for (auto [i, type] : llvm::enumerate(op.getResultTypes()))
      entry.outputs.push_back(portOf(op.getResultName(i), type));
    list.push_back(std::move(entry));
  }
  return list;
}

} // namespace xf
