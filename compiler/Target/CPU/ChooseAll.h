// xf.choose by all logits: they are looked at while their block is in the first-level cache, and forgotten.
#ifndef XF_COMPILER_TARGET_CPU_CHOOSEALL_H
#define XF_COMPILER_TARGET_CPU_CHOOSEALL_H

#include "compiler/Target/CPU/ChooseState.h"

namespace xf::cpu {

class ChooseAll : ChooseState {
public:
  explicit ChooseAll(const ChooseState &state) : ChooseState(state) {}

  /// Says of a row whether it is looked at (i1); null: all are.
  using Filter = llvm::function_ref<Value(Value row)>;
  /// Looks at the thread's columns of its rows: keeps their blocks' maxima, the sums of their exponentials if there are to be sums, and a
  /// list of the best.
  void look(Filter only = nullptr);
  /// Computes a row's results from what all threads have kept.
  void join(Value row);

private:
  void findMaximum(Value row, Value place);
  void addPowers(Value row, Value place);
  void offerBlock(Value row, Value place);
  void joinNorms(Value row);
};

} // namespace xf::cpu

#endif // XF_COMPILER_TARGET_CPU_CHOOSEALL_H
