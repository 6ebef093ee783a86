// Search: sentences in, hypotheses out. Sentences are taken in windows, longest first; those of a batch step
// together, one row of the step entry for each open beam, and waiting sentences take the slots of finished ones.
//
// The searcher says what happens when; its parts have a class each: sentences enter through the source, are searched in slots, by steps
// whose rows have choices, and leave as results.
#ifndef RUNTIME_CORE_SEARCH_H
#define RUNTIME_CORE_SEARCH_H

#include "runtime/core/host_choice.h"
#include "runtime/core/search_check.h"
#include "runtime/core/search_layout.h"
#include "runtime/core/search_options.h"
#include "runtime/core/search_results.h"
#include "runtime/core/search_source.h"
#include "runtime/core/search_step.h"
#include "runtime/core/sinks.h"
#include "runtime/core/states.h"
#include "runtime/core/steps_ahead.h"

#include <cstdint>
#include <memory>
#include <span>

namespace xf::rt {

class session;

class searcher {
public:
  searcher(session &owner, const model &m, arena_plan &plan);
  void bind(const arena &memory);

  // Throws on options that the model cannot serve.
  void check(const search_options &options) const { check_.options(options); }

  void generate(const token_rows &rows, const search_options &options, search_sink &sink);

  // The encoder's rows for each sentence's tokens, and how wide they are.
  int64_t encoding_width() const { return source_.encoding_width(); }
  void encode(const token_rows &rows, predict_sink &sink);

  // One batch whose source the caller gives as the model's own inputs: checks and keeps them, and returns the
  // number of sentences; then searches.
  int64_t bind_source(std::span<const argument> inputs) { return source_.bind_given(inputs); }
  void generate_bound(const search_options &options, search_sink &sink);

private:
  // `batch`: sentences at once; 0: as many as are worth it.
  void start_call(const search_options &options, search_sink &sink, int64_t batch);
  int64_t default_batch() const;
  // What a sentence's decoder is given behind its start token; `ids` are the sentence's tokens.
  std::span<const int32_t> given(int64_t sentence, std::span<const int32_t> ids) const {
    return source_.has_tokens() ? options_->prefix_of(sentence) : ids;
  }
  // Lays out states for so many sentences with sources and positions that are not longer.
  void make_room(int64_t sentences, int64_t source, int64_t positions);
  void make_room(const token_rows &rows);
  void run_to_the_end();

  bool may_start() const;
  void start_waiting();
  // `source`: its tokens, if it is made of tokens, with or without the padding behind them; `source_length`: how long it is without.
  void open_slot(int32_t index, int64_t sentence, std::span<const int32_t> source, std::span<const int32_t> given, int64_t source_length);

  void step();
  bool host_chooses() const { return !layout_.step.chooses || options_->wants_logits(); }
  int64_t positions() const;
  int64_t readable(const slot &s) const;
  void score();
  void advance();
  void advance_given();
  void keep_alternatives(const beam_search &beams, int32_t row);
  void end_step(int32_t index, bool goes_on);

  session &session_;
  const xf_abi_generate &g_;
  std::span<const int32_t> more_ends_;
  search_layout layout_;
  decoder_lengths lengths_;
  search_check check_;
  search_source source_;
  search_slots &slots_; // the layout's, as the next
  row_choices &choices_;
  search_step step_;
  host_choice host_;
  search_results results_;
  std::unique_ptr<logit_choice> device_choice_; // null without a device, as the next
  std::unique_ptr<steps_ahead> ahead_;
  state_room room_; // of the call in progress, as the next
  const search_options *options_ = nullptr;
  search_sink *sink_ = nullptr;
};

} // namespace xf::rt

#endif
