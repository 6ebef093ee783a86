#include "runtime/core/steps_ahead.h"

#include "runtime/core/search_slots.h"
#include "runtime/core/search_step.h"

namespace xf::rt {

steps_ahead::steps_ahead(device_executor &device, logit_choice &logits, search_slots &slots, search_step &step)
    : device_(device, step.layout(), logits), logits_(logits), slots_(slots), step_(step) {}

bool steps_ahead::serves(const search_options &options) const {
  if (options.has_targets() || options.aligns() || (options.samples && !logits_.can_draw(options.sample)))
    return false;
  // The device stops at as many finished hypotheses as beams.
  if (options.beam > XF_ABI_MAX_ADVANCED_BEAMS || !options.early_stopping)
    return false;
  bool all = true;
  // A sentence begins with one beam, and with few tokens to choose from may keep few. Beams that go on independently do so from the second step on.
  slots_.for_each([&](int32_t, const slot &s) {
    bool is_open = (s.beams.open() == options.beam && !options.alternatives) || (options.independent_beams() && s.beams.produced() > 0);
    all &= s.prefix_length - s.prefix_used <= 1 && is_open;
  });
  return all;
}

// Whether another step is worth it while `in_flight_` steps are not seen yet, by the sentences that go on so far.
bool steps_ahead::goes_on(const search_options &options) const {
  int32_t rows = slots_.rows().count(), read = 0;
  slots_.for_each([&](int32_t, const slot &s) { read += options.independent_beams() ? s.beams.open() : options.beam; });
  if (slots_.taken() == 0 || (rows - read) * 4 >= rows) // gaps
    return false;
  // Those that reach their greatest length stop by themselves.
  bool any = false;
  slots_.for_each([&](int32_t, const slot &s) { any |= s.beams.remaining() > in_flight_; });
  return any;
}

void steps_ahead::begin(const search_options &options) {
  slot_indices_.clear();
  slots_.for_each([&](int32_t index, const slot &) { slot_indices_.push_back(index); });
  bool by_logits = !step_.layout().chooses || options.wants_logits();
  if (options.independent_beams())
    step_.request_one();
  device_.begin(step_.dims(), step_.io(by_logits), by_logits, slots_, options);
  device_.start(step_.dims());
  in_flight_ = 1;
}

void steps_ahead::run(const search_options &options, function_ref<bool()> may_start,
                      function_ref<void(int32_t, std::span<const beam_pair>)> decided) {
  begin(options);
  while (in_flight_ > 0) {
    while (in_flight_ < static_cast<int32_t>(device_search::kMaxAhead) && goes_on(options) && !may_start()) {
      slots_.for_each([](int32_t, slot &s) { ++s.past; });
      step_.set_longest(slots_.longest());
      device_.start(step_.dims());
      ++in_flight_;
    }
    device_.finish();
    --in_flight_;
    for (size_t i = 0; i < slot_indices_.size(); ++i) {
      int32_t index = slot_indices_[i];
      if (slots_.at(index).is_free())
        continue;
      device_decision decision = device_.decision(i);
      slots_.at(index).failed = decision.failed;
      slots_.set_rows(index, {decision.rows, static_cast<size_t>(options.beam)});
      decided(index, decision.pairs);
    }
  }
}

} // namespace xf::rt
