// xf.choose without sums, by bounds of the logits: few of them are computed.
#ifndef XF_COMPILER_TARGET_CPU_CHOOSEFEW_H
#define XF_COMPILER_TARGET_CPU_CHOOSEFEW_H

#include "compiler/Target/CPU/ChooseScreen.h"
#include "compiler/Target/CPU/ChooseState.h"

namespace xf::cpu {

/// Products of bytes bound the logits of each panel. The panel with the highest bound is computed; all others whose bound reaches its
/// logits are, too. That is a few panels of thousands. The result is the same as that of all logits, to the last bit.
class ChooseFew : ChooseState {
public:
  ChooseFew(const ChooseState &state, const ChooseScreen &screen) : ChooseState(state), screen(screen) {}

  /// Does for the thread's part of rows and columns what ChooseAll::look does, or returns true: where logits are all alike, too many
  /// panels would have to be computed.
  Value look();

private:
  void clearRow(Value row);
  void bound(Value row, Value tileRow);
  Value boundsFrom(Value row, Value first);
  Value reaching(Value bounds, Value threshold);
  Value panelOfHighestBound(Value row);
  Value countPanels(Value row, Value threshold);
  void lookAtPanels(Value row, Value threshold);
  void lookAtPanel(Value row, Value panel, Order order);

  ChooseScreen screen;
};

} // namespace xf::cpu

#endif // XF_COMPILER_TARGET_CPU_CHOOSEFEW_H
