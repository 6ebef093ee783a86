// Choosing from whole rows of logits, on the host: for models whose logits are no matrix product, and for searches that want
// more of them than a step that chooses is asked for.
#include "runtime/core/logit_rules.h"
#include "runtime/core/search.h"
#include "runtime/core/session.h"

#include <algorithm>

namespace xf::rt {

bool searcher::is_due() const {
  return std::any_of(slots_.begin(), slots_.begin() + batch_, [](const slot &s) { return s.sentence >= 0 && s.due; });
}

float *searcher::row_logits(int32_t row, int64_t position) const {
  int64_t at = g_.sequence_first ? position * rows_.count() + row : row * new_ + position;
  return logits_ + at * layout_.vocabulary;
}

void searcher::reduce_rows() {
  session_.pool().share(rows_.count() * layout_.vocabulary * 4, [&](int thread, int threads) {
    for (int32_t row = thread; row < rows_.count(); row += threads)
      if (slots_[rows_.slot_of(row)].due)
        reduce_row(row, scratch_ + static_cast<uint64_t>(thread) * own_scratch_.bytes);
  });
}

void searcher::reduce_row(int32_t row, uint8_t *scratch) {
  const search_options &o = *options_;
  std::span<float> logits(row_logits(row, new_ - 1), static_cast<size_t>(layout_.vocabulary));
  if (o.repetition_penalty != 1.0 || o.no_repeat_ngram > 0) {
    std::span<const int32_t> read = tokens_read(row, reinterpret_cast<int32_t *>(scratch + own_scratch_.read));
    if (o.repetition_penalty != 1.0)
      penalise_repetition(logits, read, o.repetition_penalty, reinterpret_cast<float *>(scratch + own_scratch_.penalised));
    if (o.no_repeat_ngram > 0)
      forbid_repeated_ngrams(logits, read, o.no_repeat_ngram);
  }
  leave_out(logits, classes_.forbidden(class_of_row(row)));
  summaries_[row] = reduce_(logits.data(), layout_.vocabulary, o.samples ? 1 : wanted(), candidates_ + row * 2 * layout_.beam, o.wants_scores());
  if (o.samples && summaries_[row].finite && summaries_[row].count > 0)
    summaries_[row].count = draw(row, logits.data(), reinterpret_cast<candidate *>(scratch + own_scratch_.candidates));
}

// All tokens that the decoder has read for a row, its start token first.
std::span<const int32_t> searcher::tokens_read(int32_t row, int32_t *tokens) const {
  int32_t number = rows_.slot_of(row);
  const slot &s = slots_[number];
  const beam_search &beams = layout_.beams[number];
  std::copy_n(prefix_ + number * layout_.prefix_capacity, s.prefix_length, tokens);
  beams.tokens_of(rows_.beam_of(row), tokens + s.prefix_length);
  return {tokens, static_cast<size_t>(s.prefix_length + beams.produced())};
}

// Draws what follows a row: all that a sentence asks for where it begins, later one token for each that it has. Returns how many.
int32_t searcher::draw(int32_t row, const float *logits, candidate *scratch) {
  int32_t number = rows_.slot_of(row), step = layout_.beams[number].produced();
  int32_t first = step == 0 ? 0 : rows_.beam_of(row), count = step == 0 ? options_->beam : 1;
  for (int32_t i = 0; i < count; ++i) {
    uint64_t bits = mix(mix(slots_[number].draws, static_cast<uint64_t>(step)), static_cast<uint64_t>(first + i));
    candidates_[row * 2 * layout_.beam + i] = sample_(logits, layout_.vocabulary, options_->sample, uniform(bits), scratch);
  }
  return count;
}

} // namespace xf::rt
