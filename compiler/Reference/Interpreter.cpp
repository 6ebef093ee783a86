// The interpreter's interface: chooses the precision and looks up entries.
#include "compiler/Reference/Interpreter.h"

#include "compiler/Reference/Machine.h"

namespace xf {

Interpreter::Interpreter(mlir::ModuleOp module, ParameterSource &source, Precision precision) : module(module) {
  if (precision == Precision::F32)
    machine = std::make_unique<Machine<float>>(module, source);
  else
    machine = std::make_unique<Machine<double>>(module, source);
}

Interpreter::~Interpreter() = default;

llvm::Expected<TensorMap> Interpreter::run(llvm::StringRef name, const TensorMap &inputs, State *state) {
  auto entry = module.lookupSymbol<mlir::xf::EntryOp>(name);
  if (!entry)
    return makeError("the model has no entry '{}'", name.str());
  return machine->run(entry, inputs, state);
}

llvm::Error Interpreter::evaluateWeight(mlir::xf::WeightOp weight, int64_t layer, llvm::MutableArrayRef<float> out) {
  return machine->evaluateWeight(weight, layer, out);
}

llvm::Error evaluateWeight(mlir::xf::WeightOp weight, int64_t layer, ParameterSource &source, llvm::MutableArrayRef<float> out) {
  Machine<float> machine(weight->getParentOfType<mlir::ModuleOp>(), source);
  return machine.evaluateWeight(weight, layer, out);
}

} // namespace xf
