// How a row kernel's body is spread over passes over the row.
//
// A row is walked over 16 elements at a time, and a statistic of the row is known only behind the pass that computes
// it. Pass p therefore computes the reductions, and stores the results, whose operands need p statistics one after
// the other. A value that several passes need is computed again in each, as that costs less than memory does, unless
// it is expensive (transcendental functions, gathered elements): then the first pass leaves it in scratch. What has been
// stored as a result is read back from there.
#ifndef XF_COMPILER_TARGET_ROWSCHEDULE_H
#define XF_COMPILER_TARGET_ROWSCHEDULE_H

#include "compiler/Target/CodeBuilder.h"
#include "dialect/IR/Xf.h"

#include "llvm/ADT/MapVector.h"

namespace xf::codegen {

class RowSchedule {
public:
  RowSchedule(mlir::xf::RowOp op, mlir::ModuleOp root);

  /// Whether `value` of the body has an element for each of the row's; else it is a scalar.
  static bool isRow(mlir::Value value);

  unsigned passes() const { return numPasses; }
  /// The first pass that can use `value`.
  unsigned level(mlir::Value value) const { return levels.lookup(value); }
  llvm::MutableArrayRef<mlir::xf::ReduceOp> reductions(unsigned pass) { return reductionsOf[pass]; }
  /// Indices of the results that are rows and stored in `pass`.
  llvm::ArrayRef<unsigned> stores(unsigned pass) const { return storesOf[pass]; }

  /// The pass that computes `value`, a row, for the first time.
  unsigned firstUse(mlir::Value value) const { return firstPass.lookup(value); }
  /// The scratch row that holds `value` behind the pass that computes it.
  std::optional<unsigned> scratchRow(mlir::Value value) const;
  /// The result that holds `value` behind the pass that computes it.
  std::optional<unsigned> storedAs(mlir::Value value);
  unsigned scratchRows() const { return cached.size(); }

  /// Emits the row's scalars that are known behind the passes below `level`, into `scalars`, which has the body's arguments
  /// and the earlier levels' scalars. `tableRow` is called once for each embedding, and gives the address of its row.
  void emitScalars(CodeBuilder &b, unsigned level, llvm::DenseMap<mlir::Value, mlir::Value> &scalars,
                   llvm::function_ref<mlir::Value(mlir::xf::EmbedOp)> tableRow);

  /// Whether an embedding's table is stored in panels of 16 rows.
  static bool isInPanels(mlir::Value table, mlir::ModuleOp root);

private:
  bool isExpensive(mlir::Value value) const;
  void visit(mlir::Value value, unsigned pass);

  mlir::xf::RowOp op;
  mlir::ModuleOp root;
  unsigned numPasses = 0;
  llvm::DenseMap<mlir::Value, unsigned> levels;
  llvm::SmallVector<llvm::SmallVector<mlir::xf::ReduceOp>> reductionsOf;
  llvm::SmallVector<llvm::SmallVector<unsigned>> storesOf;
  llvm::DenseMap<mlir::Value, unsigned> firstPass;
  llvm::MapVector<mlir::Value, unsigned> cached;
};

} // namespace xf::codegen

#endif // XF_COMPILER_TARGET_ROWSCHEDULE_H
