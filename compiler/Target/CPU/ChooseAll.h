// xf.choose by all logits: they are looked at while their block is in the first-level cache, and forgotten.
#ifndef XF_COMPILER_TARGET_CPU_CHOOSEALL_H
#define XF_COMPILER_TARGET_CPU_CHOOSEALL_H

#include "compiler/Target/CPU/ChooseState.h"

namespace xf::cpu {

class ChooseAll : ChooseState {
public:
  explicit ChooseAll(const ChooseState &state);

  /// Says of a row whether it is looked at (i1); null: all are.
  using Filter = llvm::function_ref<Value(Value row)>;
  /// Looks at the thread's columns of its rows: keeps their blocks' maxima, the sums of their exponentials if there are to be sums, and a
  /// list of the best.
  void look(Filter only = nullptr);
  /// Computes a row's results from what all threads have kept.
  void join(Value row);

  static int64_t scratchBytes(mlir::xf::ChooseOp op, Isa isa);

private:
  void addExponentials(Value row, Value tileRow);
  void findMaximum(Value row, Value tileRow);
  llvm::SmallVector<Value> lookAtRow(Value row, Value tileRow, Value start, llvm::function_ref<Value(Value x, Value carried)> see);
  void reduceRows(Value count);
  void settle(Value row, Value tileRow);
  Value lookAgain(Value row, Value tileRow);
  void offerBlock(Value row, Value tileRow, Value largest);
  void joinNorms(Value row);
  Value isNear(Value largest);
  Value offsetOf(Value largest);

  // Behind a tile's logits in scratch: the maximum and the sum in each of 16 lanes of a row, and what the lanes are reduced to.
  Value lanesOf(mlir::xf::ReduceKind kind, Value tileRow);
  Value reducedOf(mlir::xf::ReduceKind kind, Value tileRow);

  int64_t tileRows; // at most, rounded up to those that are reduced together
};

} // namespace xf::cpu

#endif // XF_COMPILER_TARGET_CPU_CHOOSEALL_H
