// A kernel's function: the context and the views it is called with, and its thread's share of the work.
#ifndef XF_COMPILER_TARGET_CPU_KERNELBUILDER_H
#define XF_COMPILER_TARGET_CPU_KERNELBUILDER_H

#include "compiler/Target/CPU/CodeBuilder.h"

#include "llvm/ADT/DenseMap.h"

#include <utility>

namespace xf::cpu {

/// Fields of the context and the views are read once, at the function's start, however often they are asked for.
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

  /// This thread's part [first, second) of `tasks` tasks: contiguous, and the same whenever the numbers are.
  std::pair<Value, Value> share(Value tasks);
  /// This thread's place in a grid: rows [rowBegin, rowEnd), and part `column` of the `columns` parts of what a row has.
  struct Grid {
    Value rowBegin, rowEnd, column, columns;
  };
  /// As many parts of rows as keep a thread busy each, and with the threads that are left at most `mostColumns` parts of
  /// the columns. Threads outside of the grid get no rows.
  Grid grid(Value rows, int64_t mostColumns);
  /// Returns when all threads have come here; what they have written before can be read after.
  void waitForOthers();

private:
  Value field(unsigned argument, int64_t offset, Type type);

  llvm::DenseMap<std::pair<unsigned, int64_t>, Value> fields_;
};

} // namespace xf::cpu

#endif // XF_COMPILER_TARGET_CPU_KERNELBUILDER_H
