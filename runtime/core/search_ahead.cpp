// Greedy search on a device, steps ahead of the host: a step reads the tokens that the one before it has chosen from the
// device's memory, and is started before the host has seen them.
//
// All that the host must know of a step is where its rows stand, and of a row that goes on it does. Rows stay where they are
// meanwhile: those that end go on computing what nobody reads until the host has caught up and closes the gaps.
#include "runtime/core/search.h"
#include "runtime/core/session.h"

namespace xf::rt {

// Steps under way at once: the device has one to work on while the host prepares another and looks at the last.
static constexpr int32_t kAhead = 3;
static_assert(kAhead <= device_executor::kCalls);

bool searcher::can_run_ahead() const {
  if (!session_.executor() || !layout_.chooses || options_->beam != 1)
    return false;
  for (int32_t number = 0; number < batch_; ++number) {
    const slot &s = slots_[number];
    if (s.sentence >= 0 && s.prefix_length - s.prefix_used > 1)
      return false;
  }
  return true;
}

// Whether another step is worth it while `under_way_` steps are not seen yet, by the rows that go on so far.
bool searcher::goes_on() const {
  bool gaps = (rows_ - active_) * 4 >= rows_, may_start = next_waiting_ < waiting_ && (batch_ - active_) * 4 >= batch_;
  if (active_ == 0 || gaps || may_start)
    return false;
  for (int32_t number = 0; number < batch_; ++number)
    if (slots_[number].sentence >= 0 && layout_.beams[number].remaining() <= under_way_)
      return false;
  return true;
}

void searcher::run_ahead() {
  device_executor &device = *session_.executor();
  const fed_input fed{static_cast<size_t>(g_.tokens_input), static_cast<size_t>(layout_.choice.tokens)};
  auto start = [&](const fed_input *tokens) {
    prepare_step();
    device.start(*layout_.step, step_dims_.data(), step_io_.data(), tokens);
    ++under_way_;
  };
  start(nullptr);
  bool chains = device.can_chain(*layout_.step, step_dims_.data());
  while (under_way_ > 0) {
    while (chains && under_way_ < kAhead && goes_on())
      start(&fed);
    device.finish();
    --under_way_;
    take_choices();
    advance_slots();
  }
}

} // namespace xf::rt
