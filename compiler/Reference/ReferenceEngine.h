// The interpreter as an engine for golden numbers.
#ifndef XF_COMPILER_REFERENCE_REFERENCEENGINE_H
#define XF_COMPILER_REFERENCE_REFERENCEENGINE_H

#include "compiler/Import/Golden.h"
#include "compiler/Reference/Interpreter.h"

namespace xf {

/// Runs a module's full entries. The module and the source must outlive it.
class ReferenceEngine : public Engine {
public:
  ReferenceEngine(mlir::ModuleOp module, ParameterSource &source, Precision precision) : module(module), interpreter(module, source, precision) {}
  std::vector<Entry> entries() override;
  llvm::Expected<TensorMap> run(llvm::StringRef entry, const TensorMap &inputs) override { return interpreter.run(entry, inputs); }
  llvm::Expected<Tensor> greedy(const TensorMap &inputs, int64_t rows, int64_t length) override { return interpreter.greedy(inputs, rows, length); }

private:
  mlir::ModuleOp module;
  Interpreter interpreter;
};

} // namespace xf

#endif // XF_COMPILER_REFERENCE_REFERENCEENGINE_H
