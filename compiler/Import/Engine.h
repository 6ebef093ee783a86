// What runs a model's entries: an interpreter or a compiled program.
#ifndef XF_COMPILER_IMPORT_ENGINE_H
#define XF_COMPILER_IMPORT_ENGINE_H

#include "compiler/Import/Tensor.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace xf {

class Engine {
public:
  struct Port {
    std::string name;
    Tensor::Kind kind;
    int64_t rank;
  };
  struct Entry {
    std::string name;
    std::vector<Port> inputs, outputs;
  };

  virtual ~Engine() = default;
  /// The entries that are called by name, in the model's order.
  virtual std::vector<Entry> entries() = 0;
  /// Runs an entry on exactly its inputs.
  virtual llvm::Expected<TensorMap> run(llvm::StringRef entry, const TensorMap &inputs) = 0;
  /// `rows` greedy searches of exactly `length` tokens, the start token first; pad follows the end token. `inputs` holds
  /// all inputs in the file. Result: integers [rows, length].
  virtual llvm::Expected<Tensor> greedy(const TensorMap &inputs, int64_t rows, int64_t length) = 0;
};

/// `tensor` as an input of the given kind and rank: numbers may serve as booleans, and missing leading dimensions get size 1. An
/// error names what does not fit.
llvm::Expected<Tensor> convertInput(Tensor tensor, const Engine::Port &port);

/// Runs the entries whose inputs are there (only the one named, if any is), each once, in the order that the data allow, and
/// hands every result to `onResult`. A result feeds the inputs of its name unless `given` has it. Where inputs lacked leading
/// dimensions, results lose as many. Returns how many entries ran. Given tensors may be large: they are lent to the engine, and are back after
/// the last run, unless there is an error.
llvm::Expected<int> runEntries(Engine &engine, TensorMap &given, llvm::StringRef only,
                               llvm::function_ref<void(const Engine::Entry &entry, const std::string &name, Tensor result)> onResult);
/// Which inputs of entries are missing: "'encode' needs 'src', 'decode' needs 'tgt'".
std::string missingInputs(Engine &engine, const TensorMap &given);

} // namespace xf

#endif // XF_COMPILER_IMPORT_ENGINE_H
