#include "runtime/core/host_choice.h"

#include "runtime/core/logit_rules.h"
#include "runtime/core/search_slots.h"
#include "runtime/core/search_step.h"
#include "runtime/core/session.h"

namespace xf::rt {

choice_scratch::choice_scratch(const model &m) {
  arena_plan plan;
  const xf_abi_generate &g = m.header().generate;
  read = plan.add(g.target, sizeof(int32_t));
  penalised = plan.add(g.target, sizeof(float));
  candidates = plan.add(m.entries()[g.step].outputs[g.logits_output].dim[2], sizeof(candidate));
  bytes = (plan.bytes() + 63) / 64 * 64;
}

host_choice::host_choice(session &owner, const model &m, const search_slots &slots, const search_step &step, row_choices &choices, arena_plan &plan)
    : session_(owner), slots_(slots), step_(step), choices_(choices), scratch_layout_(m),
      scratch_offset_(plan.add(static_cast<uint64_t>(owner.threads()), scratch_layout_.bytes)) {}

void host_choice::bind(const arena &memory) {
  scratch_ = memory.at(scratch_offset_);
  reduce_ = row_reducer_for(session_.isa());
  sample_ = row_sampler_for(session_.isa());
}

void host_choice::choose(const search_options &options) {
  int32_t rows = slots_.rows().count();
  session_.pool().share(rows * step_.layout().vocabulary * 4, [&](int thread, int threads) {
    for (int32_t row = thread; row < rows; row += threads)
      if (slots_.of_row(row).ready)
        choose_of_row(row, options, scratch_ + static_cast<uint64_t>(thread) * scratch_layout_.bytes);
  });
}

void host_choice::choose_of_row(int32_t row, const search_options &options, uint8_t *scratch) {
  std::span<float> logits = step_.logits(row, step_.positions() - 1);
  if (options.changes_logits()) {
    std::span<const int32_t> read = slots_.tokens_read(row, reinterpret_cast<int32_t *>(scratch + scratch_layout_.read));
    if (options.repetition_penalty != 1.0)
      penalise_repetition(logits, read, options.repetition_penalty, reinterpret_cast<float *>(scratch + scratch_layout_.penalised));
    if (options.no_repeat_ngram > 0)
      forbid_repeated_ngrams(logits, read, options.no_repeat_ngram);
  }
  leave_out(logits, slots_.classes().forbidden(slots_.class_of(row)));
  row_summary &summary = choices_.summary(row);
  summary = reduce_(logits.data(), step_.layout().vocabulary, options.samples ? 1 : options.candidates(), choices_.candidates(row),
                    options.wants_scores());
  if (options.samples && summary.finite && summary.count > 0)
    summary.count = draw(row, logits.data(), options, reinterpret_cast<candidate *>(scratch + scratch_layout_.candidates));
}

// Draws what follows a row: all that a sentence asks for where it begins, later one token for each that it has. Returns how many.
int32_t host_choice::draw(int32_t row, const float *logits, const search_options &options, candidate *scratch) {
  const slot &s = slots_.of_row(row);
  int32_t step = s.beams.produced(), first = step == 0 ? 0 : slots_.rows().beam_of(row), count = step == 0 ? options.beam : 1;
  for (int32_t i = 0; i < count; ++i) {
    uint64_t bits = mix(mix(s.draws, static_cast<uint64_t>(step)), static_cast<uint64_t>(first + i));
    choices_.candidates(row)[i] = sample_(logits, step_.layout().vocabulary, options.sample, uniform(bits), scratch);
  }
  return count;
}

void host_choice::score(const search_options &options) {
  int64_t each = step_.positions(), positions = slots_.rows().count() * each;
  session_.pool().share(positions * step_.layout().vocabulary * 4, [&](int thread, int threads) {
    for (int64_t i = thread; i < positions; i += threads)
      score_position(static_cast<int32_t>(i / each), i % each, options);
  });
}

void host_choice::score_position(int32_t row, int64_t position, const search_options &options) {
  int64_t index = row * step_.positions() + position;
  std::optional<scored_target> target = slots_.target_of(row, position, step_.positions(), options.targets);
  if (!target)
    return;
  std::span<float> logits = step_.logits(row, position);
  leave_out(logits, slots_.classes().forbidden(target->row_class));
  candidate *chosen = choices_.candidates(index);
  choices_.summary(index) = reduce_(logits.data(), step_.layout().vocabulary, 1, chosen, true);
  *chosen = {logits[static_cast<size_t>(target->token)], target->token};
}

} // namespace xf::rt
