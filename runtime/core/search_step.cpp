// A step of the search: run the step entry on all rows, choose the beams that go on, and move the states of
// rows so that they are dense again (beam_rows.h).
#include "runtime/core/error.h"
#include "runtime/core/search.h"
#include "runtime/core/session.h"

#include <algorithm>
#include <cmath>

namespace xf::rt {

namespace {

// A device's steps are told a multiple of these positions.
constexpr int64_t kAlikePositions = 64;

} // namespace

void searcher::step() {
  bool ahead = can_run_ahead();
  if (ahead) {
    run_ahead();
  } else {
    prepare_step();
    // A step that may choose nothing anywhere leaves the vocabulary out.
    if (layout_.chooses && !(host_chooses() && is_due())) {
      session_.step(*layout_.step, step_dims_.data(), step_io_.data());
      take_choices();
    } else {
      session_.step(*layout_.plain, step_dims_.data(), logits_io_.data());
      if (!options_->has_targets())
        reduce_rows();
    }
    if (options_->has_targets())
      score_targets();
    else
      advance_slots();
  }
  regroup(ahead);
}

void searcher::regroup(bool have_moved) {
  for (int32_t number = 0; number < batch_; ++number) {
    const slot &s = slots_[number];
    const beam_search &beams = layout_.beams[number];
    slot_beams &after = slot_beams_[number] = {};
    if (s.sentence < 0)
      continue;
    after = {1, nullptr, s.past}; // reads its prompt
    if (s.due)
      after = {beams.open(), have_moved ? nullptr : &beams.beam(0), s.past};
  }
  move_rows(session_, rows_.regroup({slot_beams_.data(), static_cast<size_t>(batch_)}));
}

// There is room for the logits of as many rows as a search may have, at one position each, where another step chooses as a rule.
int64_t searcher::readable(const slot &s) const {
  int64_t left = s.prefix_length - s.prefix_used;
  if (!options_->has_targets())
    return std::max<int64_t>(1, left - (layout_.chooses && host_chooses()));
  int64_t unscored = s.given - 1 - s.prefix_used;
  return unscored > 0 ? unscored : std::min(left, layout_.rows / rows_.count());
}

void searcher::prepare_step() {
  // Rows with more given tokens take several positions at once, as many as all rows have.
  int32_t rows = rows_.count();
  new_ = std::min(layout_.chunk, std::max(kPromptChunk, std::min(kPromptTokens, session_.tokens_at_once()) / rows));
  for (int32_t number = 0; number < batch_; ++number)
    if (slots_[number].sentence >= 0)
      new_ = std::min(new_, readable(slots_[number]));
  for (int32_t row = 0; row < rows; ++row) {
    int32_t number = rows_.slot_of(row);
    const slot &s = slots_[number];
    const int32_t *prefix = prefix_ + number * layout_.prefix_capacity;
    for (int64_t n = 0; n < new_; ++n) {
      int32_t token = s.prefix_used < s.prefix_length ? prefix[s.prefix_used + n] : layout_.beams[number].beam(rows_.beam_of(row)).token;
      step_tokens_[g_.sequence_first ? n * rows + row : row * new_ + n] = token;
    }
    step_past_[row] = static_cast<int32_t>(s.past);
    rows_.append(row, s.past, new_);
    if (step_slots_)
      step_slots_[row] = number;
  }
  step_dims_ = source_dims_;
  layout_.pack.clear_tokens(step_dims_.data());
  step_dims_[g_.batch_dim] = rows;
  if (g_.source_dim >= 0)
    step_dims_[g_.source_dim] = source_length_;
  step_dims_[g_.new_dim] = new_;
  for (int32_t number = 0; number < batch_; ++number) {
    slot &s = slots_[number];
    if (s.sentence < 0)
      continue;
    s.past += new_;
    if (s.prefix_used < s.prefix_length)
      s.prefix_used += static_cast<int32_t>(new_);
    s.due = s.prefix_used >= s.given;
  }
  set_longest();
  if (layout_.chooses)
    ask_for_choices();
}

void searcher::set_longest() {
  if (g_.target_dim < 0)
    return;
  int64_t &longest = step_dims_[g_.target_dim];
  longest = 0;
  for (int32_t number = 0; number < batch_; ++number)
    if (slots_[number].sentence >= 0)
      longest = std::max(longest, slots_[number].past);
  // More positions than there are change nothing, and steps of the same sizes can be asked for as one piece.
  if (ahead_)
    longest = std::min((longest + kAlikePositions - 1) / kAlikePositions * kAlikePositions, model_.dims()[g_.target_dim].max);
}

void searcher::advance_slots() {
  for (int32_t number = 0; number < batch_; ++number) {
    slot &s = slots_[number];
    if (s.sentence < 0 || !s.due)
      continue;
    beam_search &beams = layout_.beams[number];
    for (int32_t b = 0; b < beams.open(); ++b) {
      int32_t row = rows_.of(number)[b];
      beam_summaries_[b] = &summaries_[row];
      beam_candidates_[b] = candidates_ + row * 2 * layout_.beam;
      if (options_->alternatives)
        keep_alternatives(beams, row);
      s.failed |= !summaries_[row].finite;
    }
    bool goes_on = !s.failed && (options_->apart() ? beams.follow(beam_summaries_.data(), beam_candidates_.data())
                                                 : beams.advance(beam_summaries_.data(), beam_candidates_.data()));
    end_step(number, goes_on);
  }
}

// Each goes on with one token, but for the first step, where all begin: not with tokens that nothing is written of, whose results would
// read as others do.
void searcher::keep_alternatives(const beam_search &beams, int32_t row) {
  bool begins = beams.produced() == 0;
  int32_t wanted = begins ? options_->beam : 1, kept = 0;
  candidate *best = candidates_ + row * 2 * layout_.beam;
  for (int32_t i = 0; i < summaries_[row].count && kept < wanted; ++i) {
    bool is_silent = (best[i].token == g_.start || best[i].token == g_.pad) && !ends().contains(best[i].token);
    if (!begins || !is_silent)
      best[kept++] = best[i];
  }
  summaries_[row].count = kept;
}

void searcher::end_step(int32_t number, bool goes_on) {
  const slot &s = slots_[number];
  int32_t token = layout_.beams[number].last_token();
  if (options_->on_token && !s.failed && token >= 0)
    options_->on_token(options_->token_context, s.sentence, token);
  if (!goes_on)
    close_slot(number);
}

void searcher::close_slot(int32_t number) {
  slot &s = slots_[number];
  int64_t sentence = s.sentence;
  s.sentence = -1;
  --active_;
  classes_.close(number);
  if (s.failed) {
    sink_->sentence_failed(sentence, "the model gave scores that are infinite or not numbers");
    return;
  }
  beam_search &beams = layout_.beams[number];
  if (options_->aligns())
    find_source(sentence);
  bool covers = options_->coverage_penalty != 0.0;
  for (int32_t i = 0; covers && i < beams.finished(); ++i) {
    double found = coverage_[static_cast<size_t>(i)] = coverage(sentence, align(number, beams.finished(i)));
    if (!std::isfinite(found))
      return sink_->sentence_failed(sentence, "the model gave alignments that are not numbers");
  }
  int32_t found = std::min(beams.rank(options_->length_penalty, covers ? coverage_.data() : nullptr), options_->best);
  if (found == 0)
    sink_->sentence_failed(sentence, "no token is left that may be chosen");
  for (int32_t i = 0; i < found; ++i) {
    const hypothesis &h = beams.finished(i);
    beams.tokens_of(h, tokens_);
    bool ended = h.end >= 0 || (options_->has_targets() && ends().contains(tokens_[h.length - 1]));
    std::span<const int32_t> tokens(tokens_, static_cast<size_t>(h.length));
    sink_->hypothesis_found(sentence, i, tokens, ended, options_->wants_scores() ? h.score : 0.0);
    if (options_->alignments)
      sink_->alignment_found(sentence, i, tokens, ended, align(number, h));
  }
}

} // namespace xf::rt
