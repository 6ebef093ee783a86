#include "runtime/core/steps_ahead.h"

#include "runtime/core/search_slots.h"
#include "runtime/core/search_step.h"

namespace xf::rt {

steps_ahead::steps_ahead(device_executor &device, search_slots &slots, search_step &step)
    : device_(device, step.layout()), slots_(slots), step_(step) {}

bool steps_ahead::serves(const search_options &options) const {
  if (options.wants_logits() || options.apart() || options.aligns() || slots_.ends().count() > XF_ABI_ADVANCED_ENDS || options.beam > XF_ABI_ADVANCED_BEAMS)
    return false;
  bool all = true;
  // A sentence begins with one beam, and with few tokens to choose from may keep few.
  slots_.for_each([&](int32_t, const slot &s) { all &= s.prefix_length - s.prefix_used <= 1 && s.beams.open() == options.beam; });
  return all;
}

// Whether another step is worth it while `under_way_` steps are not seen yet, by the sentences that go on so far.
bool steps_ahead::goes_on(int32_t beams) const {
  int32_t rows = slots_.rows().count();
  if (slots_.taken() == 0 || (rows - slots_.taken() * beams) * 4 >= rows) // gaps
    return false;
  // Those that reach their greatest length stop by themselves.
  bool any = false;
  slots_.for_each([&](int32_t, const slot &s) { any |= s.beams.remaining() > under_way_; });
  return any;
}

void steps_ahead::begin(int32_t beams) {
  numbers_.clear();
  sentences_.clear();
  slots_.for_each([&](int32_t number, const slot &s) {
    numbers_.push_back(number);
    sentences_.push_back({&s.beams, s.min_length, slots_.classes().of(number, /*may_end=*/true), s.past, slots_.rows().of(number)});
  });
  device_.begin(step_.dims(), step_.io(), sentences_, beams);
  device_.start(step_.dims());
  under_way_ = 1;
}

void steps_ahead::run(int32_t beams, function_ref<bool()> may_start, function_ref<void(int32_t, std::span<const beam_pair>)> decided) {
  begin(beams);
  while (under_way_ > 0) {
    while (under_way_ < static_cast<int32_t>(device_search::kAhead) && goes_on(beams) && !may_start()) {
      slots_.for_each([](int32_t, slot &s) { ++s.past; });
      step_.set_longest(slots_.longest());
      device_.start(step_.dims());
      ++under_way_;
    }
    device_.finish();
    --under_way_;
    for (size_t i = 0; i < numbers_.size(); ++i) {
      int32_t number = numbers_[i];
      if (slots_.at(number).is_free())
        continue;
      device_decision decision = device_.decision(i);
      slots_.at(number).failed = decision.failed;
      slots_.set_rows(number, {decision.rows, static_cast<size_t>(beams)});
      decided(number, decision.pairs);
    }
  }
}

} // namespace xf::rt
