// Scoring results that are given: the decoder reads them as it reads a prompt, several positions at once, and each position's logits say what
// the token behind it is worth.
#include "runtime/core/logit_rules.h"
#include "runtime/core/search.h"
#include "runtime/core/session.h"

namespace xf::rt {

void searcher::score_targets() {
  auto token_at = [&](const slot &s, int64_t number) { return options_->targets.row(s.sentence)[static_cast<size_t>(number)]; };
  int64_t positions = rows_.count() * new_;
  session_.pool().share(positions * layout_.vocabulary * 4, [&](int thread, int threads) {
    for (int64_t i = thread; i < positions; i += threads) {
      auto row = static_cast<int32_t>(i / new_);
      const slot &s = slots_[rows_.slot_of(row)];
      int64_t number = scored(s, i % new_);
      if (!s.due || number < 0)
        continue;
      std::span<float> logits(row_logits(row, i % new_), static_cast<size_t>(layout_.vocabulary));
      leave_out(logits, classes_.forbidden(classes_.of(rows_.slot_of(row), /*may_end=*/number >= s.min_length)));
      candidate *chosen = candidates_ + i * 2 * layout_.beam;
      summaries_[i] = reduce_(logits.data(), layout_.vocabulary, 1, chosen, true); // of no candidate where all logits are -inf: nothing goes on
      *chosen = {logits[static_cast<size_t>(token_at(s, number))], token_at(s, number)};
    }
  });
  for (int32_t number = 0; number < batch_; ++number) {
    slot &s = slots_[number];
    if (s.sentence < 0 || !s.due)
      continue;
    bool goes_on = true;
    for (int64_t position = 0; position < new_ && goes_on; ++position) {
      if (scored(s, position) < 0)
        continue;
      int64_t i = rows_.of(number)[0] * new_ + position;
      const row_summary *summary = &summaries_[i];
      const candidate *chosen = candidates_ + i * 2 * layout_.beam;
      s.failed = !summary->finite;
      goes_on = !s.failed && layout_.beams[number].advance(&summary, &chosen);
    }
    end_step(number, goes_on);
  }
}

} // namespace xf::rt
