// Where the values of a module's parameters come from.
#ifndef XF_COMPILER_IMPORT_PARAMETERSOURCE_H
#define XF_COMPILER_IMPORT_PARAMETERSOURCE_H

#include "dialect/IR/Xf.h"

#include "llvm/Support/Error.h"

namespace xf {

class ParameterSource {
public:
  virtual ~ParameterSource() = default;

  /// Elements [first, first + out.size()) of the tensor of `parameter` at `indices` (one for each of its counts), row-major, as f32.
  /// Values are of the declared type: a bf16 parameter gives bf16 values, widened. Nothing widened is kept, so memory stays bounded
  /// however large the model is. Pieces are best read in order. May be called from several threads.
  virtual llvm::Error read(mlir::xf::ParameterOp parameter, llvm::ArrayRef<int64_t> indices, int64_t first, llvm::MutableArrayRef<float> out) = 0;

  /// Whether reading a piece that does not follow the last one means reading all before it: then threads had better take turns.
  virtual bool readsInOrder() const { return false; }
};

/// The checkpoint's name of a parameter at given indices.
std::string expandPath(mlir::xf::ParameterOp parameter, llvm::ArrayRef<int64_t> indices);

/// "path" or, for a table without one, "@symbol": what messages call a parameter.
std::string describeParameter(mlir::xf::ParameterOp parameter, llvm::ArrayRef<int64_t> indices);

/// Calls `visit` for each combination of indices below the parameter's counts; once, with none, if it has no counts.
void forEachIndices(mlir::xf::ParameterOp parameter, llvm::function_ref<void(llvm::ArrayRef<int64_t>)> visit);

/// Evaluates elements [first, first + out.size()) of a table by its region, in f64, each rounded once to the declared type.
llvm::Error evaluateTable(mlir::xf::ParameterOp table, int64_t first, llvm::MutableArrayRef<float> out);

/// Rounds f32 values to the declared element type (nothing to do for f32).
void roundToDeclared(mlir::xf::ParameterOp parameter, llvm::MutableArrayRef<float> values);

} // namespace xf

#endif // XF_COMPILER_IMPORT_PARAMETERSOURCE_H
