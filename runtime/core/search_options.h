// What a search is asked for besides its sentences.
#ifndef RUNTIME_CORE_SEARCH_OPTIONS_H
#define RUNTIME_CORE_SEARCH_OPTIONS_H

#include "runtime/core/row_sample.h"
#include "runtime/core/shortlist.h"
#include "runtime/core/token_rows.h"

#include <cstdint>
#include <optional>
#include <span>

namespace xf::rt {

struct search_options {
  int32_t beam = 1;
  int32_t best = 1; // hypotheses wanted of each sentence
  double length_penalty = 1.0;
  bool early_stopping = true; // beam_scoring
  int32_t min_length = -1; // -1: the model's
  int32_t max_length = -1;
  int32_t batch = 0; // sentences at once; 0: as many as are worth it (xf.h)
  bool scores = true;
  bool alignments = false; // of the results, too
  double coverage_penalty = 0.0; // added to a score for each source token: this times log min(1, what the result's tokens look at it in all)
  std::span<const int32_t> suppress;
  const shortlist *allowed = nullptr; // what sentences may be translated with; null: everything
  std::span<const int32_t> ends;      // tokens that end a result, besides the model's
  double repetition_penalty = 1.0;    // logit_rules.h
  int32_t no_repeat_ngram = 0;        // 0: anything may be repeated
  bool samples = false;               // `beam` results are drawn instead of searched for
  sampling sample;
  uint64_t seed = 0;
  bool alternatives = false; // the `beam` most probable first tokens begin a result each, which goes on greedily
  // What the decoder is given behind its start token: the same for every sentence, or a row for each of them.
  std::span<const int32_t> prefix;
  token_rows prefixes;
  bool prefix_counts = false; // in the length that a score is divided by
  // Each sentence's result, which is then not searched for but scored.
  token_rows targets;
  // Told of each token of a search with one beam as soon as it is chosen.
  void (*on_token)(void *context, int64_t sentence, int32_t token) = nullptr;
  void *token_context = nullptr;
  // Of lines: what is put around a text, instead of what the model says.
  std::optional<std::span<const int32_t>> source_prefix, source_suffix;
  bool line_prefixes = false; // of lines: what stands behind a tab is the line's prefix
  bool line_targets = false;  // ... its target
  bool predicted_rows = false; // of predictions: they are rows of values or labels (line_rows.h), not text
  bool truncates_lines = false; // of a line with more tokens than are possible, the last are left out

  std::span<const int32_t> prefix_of(int64_t sentence) const { return prefixes.offsets ? prefixes.row(sentence) : prefix; }
  bool has_tabs() const { return line_prefixes || line_targets; }
  bool has_prefixes() const { return prefixes.offsets || !prefix.empty(); }
  bool has_targets() const { return targets.offsets != nullptr; }
  // Whether tokens are chosen from whole rows of logits.
  bool wants_logits() const { return samples || has_targets() || changes_logits(); }
  // Whether logits are changed by what a row has read.
  bool changes_logits() const { return repetition_penalty != 1.0 || no_repeat_ngram > 0; }
  bool aligns() const { return alignments || coverage_penalty != 0.0; }
  bool wants_scores() const { return scores || beam > 1 || has_targets(); }
  // How many candidates are asked of every row. A beam that ends leaves its place to the next best; a single alternative may have to pass over the
  // start token and padding.
  int32_t candidates() const { return beam > 1 ? 2 * beam : alternatives ? 3 : 1; }
  // Whether each of several results goes on by itself, whatever the others are worth.
  bool independent_beams() const { return samples || alternatives; }
};

} // namespace xf::rt

#endif
