// The interpreter of the dialect: slow, obvious, the oracle that every compiled program is compared with.
//
// It runs model IR, kernel IR and anything between, op by op, on plain row-major tensors; physical layouts do not exist
// here. Sums run in the order that the ops' descriptions give.
#ifndef XF_COMPILER_REFERENCE_INTERPRETER_H
#define XF_COMPILER_REFERENCE_INTERPRETER_H

#include "compiler/Import/ParameterSource.h"
#include "compiler/Import/Tensor.h"
#include "compiler/Reference/Scalar.h"

#include <memory>

namespace xf {

class MachineBase;

/// What `xf.state` ops hold between calls of an interpreter's entries; empty at first, grown as needed.
class State {
public:
  struct Slot {
    Tensor tensor;
    bool sentences = false;
    std::vector<std::vector<int64_t>> extents; // sentences: the shape that each slot was stored with
    std::optional<int64_t> padding;            // sentences: the value after a sentence's last position
  };
  /// By state and layer.
  std::map<std::pair<std::string, int64_t>, Slot> slots;
};

class Interpreter {
public:
  /// The module and the source must outlive the interpreter. Parameters are kept widened up to a bounded amount.
  Interpreter(mlir::ModuleOp module, ParameterSource &source, Precision precision);
  ~Interpreter();

  /// Runs an entry. `inputs` holds at least its arguments; dynamic dimensions are bound from their shapes, and two
  /// arguments that disagree are an error that names both. Entries with state ops need a state.
  llvm::Expected<TensorMap> run(llvm::StringRef entry, const TensorMap &inputs, State *state = nullptr);

  /// Greedy search by the module's `xf.generate`, running decode over the whole prefix at each step: `rows` sequences of
  /// exactly `length` tokens, the start token first. No token is suppressed, ties go to the lowest id, and the end token is
  /// followed by pad. `inputs` holds what encode and decode need besides each other's results. Result: [rows, length].
  llvm::Expected<Tensor> greedy(const TensorMap &inputs, int64_t rows, int64_t length);

  /// The constant tensor of a weight for a layer: copies are exact, arithmetic is in f64 and rounded once. `out` has
  /// exactly the weight's elements, row-major whatever the layout says; integers come as floats, those of 32 bits as their bits.
  llvm::Error evaluateWeight(mlir::xf::WeightOp weight, int64_t layer, llvm::MutableArrayRef<float> out);

private:
  mlir::ModuleOp module;
  std::unique_ptr<MachineBase> machine;
};

/// As Interpreter::evaluateWeight, for one call.
llvm::Error evaluateWeight(mlir::xf::WeightOp weight, int64_t layer, ParameterSource &source, llvm::MutableArrayRef<float> out);

} // namespace xf

#endif // XF_COMPILER_REFERENCE_INTERPRETER_H
