// Search on a device, steps ahead of the host: the device decides which beams go on, moves their rows, and begins the next step
// with what it has decided. The host starts steps before it has seen what became of those before.
//
// All that it must know of a step are sizes, and they follow from the rows that go on. A sentence has its rows as long as steps
// are under way: when it is done they go on computing what nobody reads, until the host has caught up and closes the gaps.
#include "runtime/core/search.h"
#include "runtime/core/session.h"

#include <algorithm>

namespace xf::rt {

bool searcher::can_run_ahead() const {
  if (!ahead_ || host_chooses() || options_->apart() || options_->aligns() || ends().count() > XF_ABI_ADVANCED_ENDS || options_->beam > XF_ABI_ADVANCED_BEAMS)
    return false;
  for (int32_t number = 0; number < batch_; ++number) {
    const slot &s = slots_[number];
    // A sentence begins with one beam, and with few tokens to choose from may keep few.
    if (s.sentence >= 0 && (s.prefix_length - s.prefix_used > 1 || layout_.beams[number].open() != options_->beam))
      return false;
  }
  return true;
}

// Whether another step is worth it while `under_way_` steps are not seen yet, by the sentences that go on so far.
bool searcher::goes_on() const {
  bool gaps = (rows_.count() - active_ * options_->beam) * 4 >= rows_.count();
  bool may_start = window_.waiting() > 0 && (batch_ - active_) * 4 >= batch_;
  if (active_ == 0 || gaps || may_start)
    return false;
  // Those that reach their greatest length stop by themselves.
  for (int32_t number = 0; number < batch_; ++number)
    if (slots_[number].sentence >= 0 && layout_.beams[number].remaining() > under_way_)
      return true;
  return false;
}

void searcher::begin_ahead() {
  prepare_step();
  ahead_slots_.clear();
  ahead_sentences_.clear();
  for (int32_t number = 0; number < batch_; ++number) {
    const slot &s = slots_[number];
    if (s.sentence < 0)
      continue;
    ahead_slots_.push_back(number);
    ahead_sentences_.push_back(
        {&layout_.beams[number], s.min_length, classes_.of(number, /*may_end=*/true), s.past, rows_.of(number)});
  }
  ahead_->begin(step_dims_.data(), step_io_.data(), ahead_sentences_, options_->beam);
}

void searcher::run_ahead() {
  begin_ahead();
  ahead_->start(step_dims_.data());
  under_way_ = 1;
  while (under_way_ > 0) {
    while (under_way_ < static_cast<int32_t>(device_search::kAhead) && goes_on()) {
      for (int32_t number : ahead_slots_)
        slots_[number].past += slots_[number].sentence >= 0;
      set_longest();
      ahead_->start(step_dims_.data());
      ++under_way_;
    }
    ahead_->finish();
    --under_way_;
    take_decisions();
  }
}

void searcher::take_decisions() {
  for (size_t i = 0; i < ahead_slots_.size(); ++i) {
    int32_t number = ahead_slots_[i];
    slot &s = slots_[number];
    if (s.sentence < 0)
      continue;
    device_decision decided = ahead_->decision(i);
    s.failed = decided.failed;
    std::copy_n(decided.rows, options_->beam, rows_.of(number));
    end_step(number, !s.failed && layout_.beams[number].take(decided.pairs.data(), static_cast<int32_t>(decided.pairs.size())));
  }
}

} // namespace xf::rt
