// What rows may choose; and what the search asks of a step that chooses tokens itself, and takes from it.
//
// Rows are told apart by classes of forbidden tokens. Class 0 may choose none: its row still reads its prompt, and when all
// do, a step that chooses leaves the vocabulary out. Then a pair for all sentences, or for each slot where a shortlist allows each
// sentence tokens of its own: what may be chosen, and that without the end.
#include "runtime/abi/xf_log.h"
#include "runtime/core/search.h"
#include "runtime/core/session.h"

#include <algorithm>
#include <cmath>

namespace xf::rt {

namespace {

uint32_t bit(int32_t token) { return 1u << (token % 32); }

} // namespace

void searcher::forbid(int32_t kind, std::span<const int32_t> tokens) {
  for (int32_t token : tokens)
    forbidden(kind)[token / 32] |= bit(token);
}

void searcher::forbid_ends(int32_t kind) {
  ends().for_each([&](int32_t token) { forbidden(kind)[token / 32] |= bit(token); });
}

void searcher::forbid_tokens() {
  std::fill_n(forbidden(0), layout_.words, ~0u);
  if (options_->allowed) {
    // Slots that are not in use allow nothing, so that they make the step compute nothing.
    std::fill_n(forbidden(1), layout_.words * 2 * layout_.batch, ~0u);
    return;
  }
  for (int32_t kind : {1, 2}) {
    std::fill_n(forbidden(kind), layout_.words, 0u);
    forbid(kind, options_->suppress);
  }
  forbid_ends(2);
}

void searcher::forbid_tokens(int32_t number, std::span<const int32_t> source) {
  if (!options_->allowed)
    return;
  int32_t kind = 1 + 2 * number;
  std::fill_n(forbidden(kind), layout_.words, ~0u);
  if (!source.empty()) {
    options_->allowed->allow(source, forbidden(kind));
    ends().for_each([&](int32_t token) { forbidden(kind)[token / 32] &= ~bit(token); }); // any sentence may end
  }
  forbid(kind, options_->suppress);
  std::copy_n(forbidden(kind), layout_.words, forbidden(kind + 1));
  forbid_ends(kind + 1);
}

// Of rows that may choose the end; the next class may not.
int32_t searcher::class_of(int32_t number) const { return options_->allowed ? 1 + 2 * number : 1; }

int32_t searcher::class_of_row(int32_t row) const {
  int32_t number = row_slot_[row];
  const slot &s = slots_[number];
  return s.due ? class_of(number) + (layout_.beams[number].produced() < s.min_length) : 0;
}

int32_t searcher::wanted() const {
  // What ends leaves its place to the next best, and the only alternative leaves its own to what follows the start token and padding.
  return options_->beam > 1 ? 2 * options_->beam : options_->alternatives ? 3 : 1;
}

void searcher::ask_for_choices() {
  // Steps that follow each other on a device have tensors of one size.
  int32_t classes = !session_.executor() ? 1 : options_->allowed ? 1 + 2 * batch_ : 3;
  for (int32_t row = 0; row < rows_; ++row) {
    choice_.classes[row] = class_of_row(row);
    classes = std::max(classes, choice_.classes[row] + 1);
  }
  choice_.options[0] = wanted();
  choice_.options[1] = options_->wants_scores();
  step_dims_[layout_.classes_dim] = classes;
}

void searcher::take_choices() {
  bool sums = choice_.options[1] != 0;
  for (int32_t row = 0; row < rows_; ++row) {
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
