// What the search asks of a step that chooses tokens itself, and takes from it.
#include "runtime/abi/xf_log.h"
#include "runtime/core/search.h"
#include "runtime/core/session.h"

#include <algorithm>
#include <cmath>

namespace xf::rt {

int32_t searcher::class_of_row(int32_t row) const {
  int32_t number = rows_.slot_of(row);
  const slot &s = slots_[number];
  return s.due ? classes_.of(number, /*may_end=*/layout_.beams[number].produced() >= s.min_length) : token_classes::kNone;
}

int32_t searcher::wanted() const {
  // What ends leaves its place to the next best, and the only alternative leaves its own to what follows the start token and padding.
  return options_->beam > 1 ? 2 * options_->beam : options_->alternatives ? 3 : 1;
}

void searcher::ask_for_choices() {
  // Steps that follow each other on a device have tensors of one size.
  int32_t classes = session_.executor() ? classes_.count(batch_) : 1;
  for (int32_t row = 0; row < rows_.count(); ++row) {
    choice_.classes[row] = class_of_row(row);
    classes = std::max(classes, choice_.classes[row] + 1);
  }
  choice_.options[0] = wanted();
  choice_.options[1] = options_->wants_scores();
  step_dims_[layout_.classes_dim] = classes;
}

void searcher::take_choices() {
  bool sums = choice_.options[1] != 0;
  for (int32_t row = 0; row < rows_.count(); ++row) {
    const float *values = choice_.values + row * layout_.most, *norms = choice_.norms + 2 * row;
    const int32_t *tokens = choice_.tokens + row * layout_.most;
    candidate *best = candidates_ + row * 2 * layout_.beam;
    row_summary &summary = summaries_[row];
    int32_t count = 0;
    for (; count < choice_.options[0] && tokens[count] >= 0; ++count)
      best[count] = {values[count], tokens[count]};
    double normaliser = sums ? static_cast<double>(norms[0]) + xf_log(static_cast<double>(norms[1])) : 0.0;
    summary = {count, !std::isnan(norms[0]), normaliser};
  }
}

} // namespace xf::rt
