// Search on a device, steps ahead of the host: the device decides which beams go on, moves their rows, and begins the next step
// with what it has decided. The host starts steps before it has seen what became of those before.
//
// All that it must know of a step are sizes, and they follow from the rows that go on. A sentence has its rows as long as steps
// are under way: when it is done they go on computing what nobody reads, until the host has caught up and closes the gaps.
#ifndef RUNTIME_CORE_STEPS_AHEAD_H
#define RUNTIME_CORE_STEPS_AHEAD_H

#include "runtime/core/function_ref.h"
#include "runtime/core/search_options.h"
#include "runtime/device/device_search.h"

#include <cstdint>
#include <span>
#include <vector>

namespace xf::rt {

class search_slots;
class search_step;

class steps_ahead {
public:
  steps_ahead(device_executor &device, logit_choice &logits, search_slots &slots, search_step &step);

  // Whether the host need not decide after each step.
  bool serves(const search_options &options) const;
  // Runs steps, of which the first is prepared, until the host is to look after its sentences: `may_start` says that some that wait may start.
  // decided(slot, pairs) is told of each sentence and step what its beams are to take; a sentence that is done closes its slot.
  void run(const search_options &options, function_ref<bool()> may_start, function_ref<void(int32_t, std::span<const beam_pair>)> decided);

private:
  void begin(const search_options &options);
  bool goes_on(const search_options &options) const;

  device_search device_;
  const logit_choice &logits_;
  search_slots &slots_;
  search_step &step_;
  std::vector<int32_t> slot_indices_; // of the slots whose sentences are there, in their order
  int32_t in_flight_ = 0; // steps that have been started and not been looked at
};

} // namespace xf::rt

#endif
