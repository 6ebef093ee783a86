// A kernel's function: the context and the views it is called with, and its thread's share of the work.
#ifndef XF_COMPILER_TARGET_CPU_KERNELBUILDER_H
#define XF_COMPILER_TARGET_CPU_KERNELBUILDER_H

#include "compiler/Target/CodeBuilder.h"
#include "runtime/abi/xf_abi.h"

#include "llvm/ADT/DenseMap.h"

#include <utility>

namespace xf::cpu {

/// Fields of the context and the views are read once, at the function's start, however often they are requested.
class KernelBuilder : public CodeBuilder {
public:
  KernelBuilder(mlir::ModuleOp module, llvm::StringRef name, Isa isa, mlir::Location location);

  Value context() { return argument(0); }
  Value views() { return argument(1); }

  // The context.
  Value thread();
  Value threads();
  Value scratch();

  // View `i`.
  Value data(unsigned i);
  Value size(unsigned i, unsigned dim);
  Value stride(unsigned i, unsigned dim);
  /// Element `index` of view `i`, which is of i32 and rank 1, as i64.
  Value loadIndex(unsigned i, Value index);
  /// First position and length of sentence `index`, of view `i`, which is of i32 and [B, 2]; as i64.
  std::pair<Value, Value> loadSpan(unsigned i, Value index);

  /// This thread's part [first, second) of `tasks` tasks: contiguous, and the same whenever the numbers are.
  std::pair<Value, Value> share(Value tasks);
  /// This thread's position in a grid: rows [rowBegin, rowEnd), and part `column` of the `columns` parts of what a row has.
  struct Grid {
    Value rowBegin, rowEnd, column, columns;
  };
  /// As many parts of rows as keep a thread busy each, and with the threads that are left at most `maxColumns` parts of
  /// the columns. Threads outside of the grid get no rows.
  Grid grid(Value rows, int64_t maxColumns);
  /// Returns when all threads have come here; what they have written before can be read after.
  void barrier();

private:
  /// A field of what an argument points to.
  Value field(Value argument, int64_t offset, Type type);
  Value viewField(unsigned view, int64_t offset, Type type) { return field(views(), view * sizeof(xf_abi_view) + offset, type); }

  llvm::DenseMap<std::pair<Value, int64_t>, Value> fields_;
};

} // namespace xf::cpu

#endif // XF_COMPILER_TARGET_CPU_KERNELBUILDER_H
