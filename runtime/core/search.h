// Search: sentences in, hypotheses out. Sentences are taken in windows, longest first; those of a batch step
// together, one row of the step entry for each open beam, and waiting sentences take the slots of finished ones.
#ifndef RUNTIME_CORE_SEARCH_H
#define RUNTIME_CORE_SEARCH_H

#include "runtime/core/beam_rows.h"
#include "runtime/core/binding.h"
#include "runtime/core/function_ref.h"
#include "runtime/core/group_calls.h"
#include "runtime/core/refusal.h"
#include "runtime/core/search_layout.h"
#include "runtime/core/search_options.h"
#include "runtime/core/states.h"
#include "runtime/core/token_classes.h"
#include "runtime/device/device_search.h"

#include <cstdint>
#include <memory>
#include <span>

namespace xf::rt {

class session;

// float[tokens of a result][tokens of its source]
struct alignment {
  const float *weights;
  int64_t rows, columns;
};

// Receives results, each sentence's best first, sentences in any order.
class search_sink {
public:
  virtual ~search_sink() = default;
  // `tokens` include the end token when the hypothesis ended with it.
  virtual void hypothesis_found(int64_t sentence, int32_t rank, std::span<const int32_t> tokens, bool ended,
                                double score) = 0;
  // Behind it, where alignments are asked for: how much each of the result's tokens looks at each of the source.
  virtual void alignment_found(int64_t, int32_t, std::span<const int32_t>, bool, const alignment &) {}
  virtual void sentence_failed(int64_t sentence, const char *message) = 0;
};

// Receives rows of numbers.
class predict_sink {
public:
  virtual ~predict_sink() = default;
  // Row i of the sentence is the `width` floats from values + i * stride; as many rows as it has tokens, or one.
  virtual void predicted(int64_t sentence, const float *values, int64_t rows, int64_t stride, int64_t width) = 0;
  virtual void sentence_failed(int64_t sentence, const char *message) = 0;
};

class searcher {
public:
  searcher(session &owner, const model &m, arena_plan &plan);
  void bind(const arena &memory);

  const search_layout &layout() const { return layout_; }
  // Throws on options that the model cannot serve.
  void check(const search_options &options) const;
  bool continues_prompts() const { return !layout_.encode.entry && !layout_.begin.entry; }

  void generate(const token_rows &rows, const search_options &options, search_sink &sink);

  // The encoder's rows for each sentence's tokens, and how wide they are.
  int64_t encoding_width() const;
  void encode(const token_rows &rows, predict_sink &sink);

  // One batch whose source the caller gives as the model's own inputs: checks and keeps them, and returns the
  // number of sentences; then searches.
  int64_t bind_source(std::span<const argument> inputs);
  void generate_bound(const search_options &options, search_sink &sink);

private:
  struct slot {
    int64_t sentence = -1; // -1: free
    int64_t past = 0;      // positions in the states
    int32_t min_length = 0;
    // Tokens that are read before any is chosen, of which so many are given before the result: all, but for a result that is scored.
    int32_t prefix_length = 0, prefix_used = 0, given = 0;
    uint64_t draws = 0; // what its random numbers are made of
    bool due = false;   // the last step gave logits to choose from
    bool failed = false;
  };

  int64_t joining(int64_t free) const;
  // Calls the groups' sentences, which wait in the window.
  void call_groups(const group_calls &calls, const sentence_groups &groups, function_ref<void(const group_calls::group &)> done);
  void fill_tokens(const pack_front &front, std::span<const int32_t> lengths, int64_t *dims, function_ref<int64_t(int64_t)> sentence) const;
  // Of a source tensor, `given` where the caller gives some of them.
  void *source_pointer(int tensor, bool given) const {
    return given && given_pointers_[tensor] ? given_pointers_[tensor] : source_pointers_[tensor];
  }
  // Of the tokens that the caller gives.
  int32_t given_token(int64_t sentence, int64_t position) const;
  void call_source(const source_call &call, bool given);
  std::vector<void *> source_arguments(const source_call &call) const;
  // Of a sentence that is done (search_align.cpp).
  void find_source(int64_t sentence);
  bool is_padding(int64_t sentence, int64_t position) const;
  alignment align(int32_t number, const hypothesis &h);
  double coverage(int64_t sentence, const alignment &found) const;
  const char *refuse(const token_rows &rows, int64_t sentence);
  const char *refuse_prefix(std::span<const int32_t> prefix);
  const char *refuse_target(int64_t sentence, std::span<const int32_t> given);
  void start_waiting();
  bool may_join(int64_t length) const;
  // `given`: what the decoder reads behind its start token.
  void open_slot(int32_t number, int64_t sentence, std::span<const int32_t> source, std::span<const int32_t> given,
                 int64_t own_length);
  void run_given(int64_t sentences, int64_t length);
  void run_to_the_end();
  void start_call(const search_options &options, search_sink &sink);
  void step();
  // Sets the step entry's arguments and moves the slots on by its positions.
  void prepare_step();
  // How many tokens of a sentence a step may read at once.
  int64_t readable(const slot &s) const;
  // The most positions that a row holds after the step.
  void set_longest();
  // Several steps of a device, of which each is started before the host has seen the one before.
  bool can_run_ahead() const;
  void run_ahead();
  void begin_ahead();
  bool goes_on() const;
  void take_decisions();
  // Where the host chooses (search_logits.cpp).
  bool host_chooses() const { return !layout_.chooses || options_->wants_logits(); }
  bool is_due() const;
  void reduce_rows();
  void reduce_row(int32_t row, uint8_t *scratch);
  std::span<const int32_t> tokens_read(int32_t row, int32_t *tokens) const;
  int32_t draw(int32_t row, const float *logits, candidate *scratch);
  // Where results are given (search_score.cpp).
  void score_targets();
  // Which token of its result the step's position says the worth of; negative: one that is given before it.
  int64_t scored(const slot &s, int64_t position) const { return s.prefix_used - new_ + position + 1 - s.given; }
  end_tokens ends() const { return {g_.end, model_.more_ends(), options_->ends}; }
  int32_t class_of_row(int32_t row) const;
  // Candidates that are asked of every row.
  int32_t wanted() const;
  void ask_for_choices();
  void take_choices();
  void advance_slots();
  void keep_alternatives(const beam_search &beams, int32_t row);
  // A sentence's beams have been advanced, unless it failed; `goes_on`: some are open.
  void end_step(int32_t number, bool goes_on);
  // Moves rows so that they are dense again; `have_moved`: the beams' rows are those after the step, not those of their parents.
  void regroup(bool have_moved);
  void close_slot(int32_t number);
  int64_t own_length(std::span<const int32_t> ids) const;
  // The most tokens of a sentence's result, whose source has `own_length` tokens, and of which the decoder is given `prefix_length`.
  int64_t longest_result(int64_t sentence, int64_t own_length, int64_t prefix_length) const;
  // The most positions of the states that a sentence fills, with what its decoder is given.
  int64_t positions_of(int64_t sentence, int64_t own_length, std::span<const int32_t> given) const;
  // Whether the decoder's first token is not the prompt's own.
  bool needs_start(std::span<const int32_t> prompt) const { return g_.start >= 0 && (prompt.empty() || prompt[0] != g_.start); }
  // The tokens that the decoder reads at first.
  int64_t given_length(std::span<const int32_t> given) const { return needs_start(given) + static_cast<int64_t>(given.size()); }
  int32_t default_batch() const;
  // Lays out states for so many sentences with sources and positions that are not longer.
  void make_room(int64_t sentences, int64_t source, int64_t positions);
  void make_room(const token_rows &rows);
  float *row_logits(int32_t row, int64_t position) const;

  session &session_;
  const model &model_;
  const xf_abi_generate &g_;
  search_layout layout_;
  beam_rows &rows_; // the layout's, as the next
  sentence_window &window_; // of sentences that the caller gives all at once, as the model's inputs, there are no rows
  token_classes classes_;
  group_calls encode_calls_, start_calls_; // of the encoder, and with what follows it
  choice_scratch own_scratch_; // of a thread
  state_room room_;            // of the call in progress
  uint64_t scratch_at_;
  row_reducer reduce_ = nullptr;
  row_sampler sample_ = nullptr;

  // Bound to the arena.
  uint8_t *memory_ = nullptr;
  int32_t *slots_argument_ = nullptr, *prefix_ = nullptr, *tokens_ = nullptr, *started_ = nullptr;
  int32_t *aligned_ = nullptr; // what the decoder reads for a result
  float *weights_ = nullptr;   // of its alignment
  candidate *candidates_ = nullptr;
  row_summary *summaries_ = nullptr;
  int32_t *step_tokens_ = nullptr, *step_past_ = nullptr, *step_slots_ = nullptr;
  float *logits_ = nullptr;    // of the step that gives them
  uint8_t *scratch_ = nullptr; // [threads], of choices by the host
  step_choice choice_ = {};
  std::vector<void *> source_pointers_, given_inputs_, given_pointers_, source_io_, step_io_, logits_io_;
  std::vector<int64_t> source_dims_, step_dims_;
  std::vector<void *> align_io_;
  std::vector<int64_t> align_dims_;
  std::vector<slot> slots_;
  std::vector<slot_beams> slot_beams_; // after a step
  std::vector<const row_summary *> beam_summaries_;
  std::vector<const candidate *> beam_candidates_;
  std::vector<double> coverage_; // of finished hypotheses

  // Of the call in progress.
  const search_options *options_ = nullptr; // null: sentences are only encoded
  search_sink *sink_ = nullptr;
  int32_t batch_ = 0;
  int64_t source_length_ = 0; // of the sentences in the slots, padding included
  int32_t active_ = 0;
  int64_t new_ = 1; // positions of the step
  std::unique_ptr<device_search> ahead_; // null where the host decides after each step
  std::vector<int32_t> ahead_slots_;     // those of its sentences
  std::vector<device_sentence> ahead_sentences_;
  int32_t under_way_ = 0;   // steps that have been started and not been looked at
  refusal refusal_;
};

} // namespace xf::rt

#endif
