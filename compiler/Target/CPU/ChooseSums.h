// xf.choose with sums, to which improbable columns contribute estimates.
#ifndef XF_COMPILER_TARGET_CPU_CHOOSESUMS_H
#define XF_COMPILER_TARGET_CPU_CHOOSESUMS_H

#include "compiler/Target/CPU/ChooseAll.h"
#include "compiler/Target/CPU/ChooseScreen.h"

namespace xf::cpu {

/// Products of few bits estimate and bound the logits. A sum of exponentials loses little by errors of its many small terms, as long as
/// these are independent: if term n has the share p_n of the sum and its logit an error of standard deviation e, then the sum's is
/// e √(Σ p_n²), relative to it. So the logits of a row that may be among the best are computed, and after them the panels that weigh
/// most, until the error of the others is small enough. A panel's weight is its sum times its greatest term, which is not less than the
/// sum of its terms' squares. Errors are estimated from their bounds: by Cauchy and Schwarz the error of a product is |e| |w| at most,
/// and 1/√k of that for vectors of independent directions.
class ChooseSums : ChooseState {
public:
  ChooseSums(const ChooseState &state, const ChooseScreen &screen) : ChooseState(state), screen(screen), all(state) {}

  /// All of the kernel's work, for all rows.
  void emit();

private:
  void look();
  void estimate(Value row, Value tileRow);
  void addEstimates(Value row, Value tileRow);
  Value errorOf(Value row);
  /// exp(x), as accurate as the sum.
  Value exp(Value x) { return logits.factors().weight.factor == Factor::bf16 ? shortBoundedExp(b, x) : boundedExp(b, x); }

  void settle(Value row);
  /// So many panels are not computed one by one any more.
  int64_t tooMany() const;
  /// Calls `body` while `next` names a panel, by its value in `ranking`, and the row's panels are few.
  using Next = llvm::function_ref<std::pair<Value, Value>()>;
  using Body = llvm::function_ref<void(Value panel, Value slot)>;
  void whileFew(Value row, PanelRanking &ranking, Next next, Body body);
  void settlePanel(Value row, Value panel, Value slot);
  void addRareColumns(Value row);
  void replaceEstimate(Value row, Value panel, Value slot);

  Value isUnsettled(Value row);
  Value anyIsUnsettled(Value first, Value end);

  ChooseScreen screen;
  ChooseAll all;
};

} // namespace xf::cpu

#endif // XF_COMPILER_TARGET_CPU_CHOOSESUMS_H
