#include "runtime/core/search_step.h"

#include "runtime/core/search_slots.h"
#include "runtime/core/search_source.h"
#include "runtime/core/session.h"

#include <algorithm>

namespace xf::rt {

namespace {

// A device's steps are told a multiple of these positions.
constexpr int64_t kPositionMultiple = 64;

} // namespace

search_step::search_step(session &owner, const model &m, const step_layout &layout)
    : session_(owner), model_(m), g_(m.header().generate), layout_(layout), dims_(m.dims().size()) {}

void search_step::bind(const arena &memory) {
  for (uint64_t offset : layout_.tensors)
    io_.push_back(memory.at(offset));
  tokens_ = static_cast<int32_t *>(io_[layout_.tokens]);
  past_ = static_cast<int32_t *>(io_[layout_.past]);
  if (int at = layout_.entry->find_input("xf.slots"); at >= 0)
    slots_ = static_cast<int32_t *>(io_[at]);
  logits_ = memory.as<float>(layout_.logits);
  plain_io_ = io_;
  if (!layout_.chooses)
    return;
  auto input = [&](int index) { return io_[index]; };
  auto output = [&](int index) { return io_[layout_.entry->inputs.size() + index]; };
  const choice_indices &at = layout_.choice;
  choice_ = {static_cast<int32_t *>(input(at.classes)), static_cast<int32_t *>(input(at.options)), static_cast<const float *>(output(at.values)),
             static_cast<const int32_t *>(output(at.tokens)), static_cast<const float *>(output(at.norms))};
  plain_io_.resize(layout_.plain->inputs.size());
  plain_io_.push_back(logits_);
}

void search_step::prepare(search_slots &slots, const search_source &source, const search_options &options, int64_t positions) {
  positions_ = positions;
  int32_t rows = slots.rows().count();
  for (int32_t row = 0; row < rows; ++row) {
    for (int64_t n = 0; n < positions; ++n)
      tokens_[g_.sequence_first ? n * rows + row : row * positions + n] = slots.next_token(row, n);
    past_[row] = static_cast<int32_t>(slots.of_row(row).past);
    if (slots_)
      slots_[row] = slots.rows().slot_of(row);
  }
  source.set_dims(dims_.data());
  dims_[g_.batch_dim] = rows;
  dims_[g_.new_dim] = positions;
  slots.read(positions);
  set_longest(slots.longest());
  if (layout_.chooses)
    request_candidates(slots, options);
}

void search_step::request_one() {
  if (layout_.chooses)
    choice_.options[0] = 1;
}

void search_step::set_longest(int64_t longest) {
  if (g_.target_dim < 0)
    return;
  // More positions than there are change nothing, and steps of the same sizes can be asked for as one piece.
  if (session_.executor())
    longest = std::min((longest + kPositionMultiple - 1) / kPositionMultiple * kPositionMultiple, model_.dims()[g_.target_dim].max);
  dims_[g_.target_dim] = longest;
}

// Asks for candidates of each row: how many, from which tokens, and whether with its normaliser.
void search_step::request_candidates(const search_slots &slots, const search_options &options) {
  // Steps that follow each other on a device have tensors of one size.
  int32_t classes = session_.executor() ? slots.classes().count(slots.count()) : 1;
  for (int32_t row = 0; row < slots.rows().count(); ++row) {
    choice_.classes[row] = slots.class_of(row);
    classes = std::max(classes, choice_.classes[row] + 1);
  }
  choice_.options[0] = options.candidates();
  choice_.options[1] = options.wants_scores();
  dims_[layout_.classes_dim] = classes;
}

void search_step::choose(row_choices &choices) {
  session_.step(*layout_.entry, dims_.data(), io_.data());
  bool sums = choice_.options[1] != 0;
  for (int64_t row = 0; row < dims_[g_.batch_dim]; ++row) {
    const float *values = choice_.values + row * layout_.max_candidates, *norms = choice_.norms + 2 * row;
    const int32_t *tokens = choice_.tokens + row * layout_.max_candidates;
    candidate *best = choices.candidates(row);
    int32_t count = 0;
    for (; count < choice_.options[0] && tokens[count] >= 0; ++count)
      best[count] = {values[count], tokens[count]};
    choices.summary(row) = summary_of(count, norms, sums);
  }
}

void search_step::compute_logits() { session_.step(*layout_.plain, dims_.data(), plain_io_.data()); }

std::span<float> search_step::logits(int32_t row, int64_t position) const {
  int64_t at = g_.sequence_first ? position * dims_[g_.batch_dim] + row : row * positions_ + position;
  return {logits_ + at * layout_.vocabulary, static_cast<size_t>(layout_.vocabulary)};
}

} // namespace xf::rt
