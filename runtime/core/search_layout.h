// Where the search keeps its tensors and bookkeeping in the session's memory, for the model's limits.
#ifndef RUNTIME_CORE_SEARCH_LAYOUT_H
#define RUNTIME_CORE_SEARCH_LAYOUT_H

#include "runtime/core/arena.h"
#include "runtime/core/beam.h"
#include "runtime/core/beam_rows.h"
#include "runtime/core/grouping.h"
#include "runtime/core/model.h"
#include "runtime/core/sentence_pack.h"
#include "runtime/core/sentence_window.h"

#include <cstdint>
#include <string>
#include <vector>

namespace xf::rt {

// Positions of prompts that one call of the step takes: of each row so many, and more of few rows, up to so many of all together, as
// products of 32 tokens read their weights too often.
constexpr int64_t kPromptChunk = 32, kPromptTokens = 256;

// A tensor of encode or begin. One that both know, by its name, is stored once; its values are below both bounds.
struct source_tensor {
  tensor_info info;
  uint64_t offset;
};

// The entries' arguments as indices into `source_tensors`, or what stands for none of these.
constexpr int kSlotsArgument = -1;
constexpr int kPackArgument = -2; // of the sentence_pack, by its name
constexpr int kAlignedArgument = -3, kWeightsArgument = -4; // of the entry that aligns: the target's tokens, and its result
struct source_call {
  const entry_info *entry = nullptr;
  std::vector<int> arguments;
};

// Places of what a step that chooses takes and gives beside the plain step's arguments, among its inputs and outputs.
struct choice_places {
  int forbidden, classes, options, values, tokens, norms;
};

// The same bound to memory, but for the forbidden tokens.
struct step_choice {
  int32_t *classes;    // [rows]
  int32_t *options;    // how many candidates, whether sums of exponentials
  const float *values; // [rows][most], and so on
  const int32_t *tokens;
  const float *norms;
};

struct search_layout {
  search_layout(const model &m, arena_plan &plan);
  // Why the model cannot be searched from tokens alone, as lines have them; empty if it can.
  std::string refuses_tokens() const;

  int64_t batch, beam, rows, chunk, vocabulary;
  int64_t least_source = 1, least_batch = 1; // positions and sentences that encode and begin need
  std::vector<source_tensor> source_tensors;
  entry_info source;            // as if encode and begin were one: the inputs that the caller owes
  std::vector<int> source_inputs; // their indices in `source_tensors`
  int source_tokens = -1;       // index in `source_tensors` of the input that token rows fill
  std::string other_input;      // an input of the source that is not tokens, if there is one
  source_call encode, begin;
  source_call packed_encode, packed_begin; // their twins, or none
  source_call align;              // of one sentence and one result, or none
  int64_t least_aligned = 1, least_aligned_source = 1; // results or target tokens that it needs; source positions
  bool aligned_apart = true;      // whether a sentence of several can be taken out of its tensors, as their rows
  const entry_info *step;       // the one that chooses, if there is one
  const entry_info *plain;      // the one that gives logits; its inputs are the first of the other's
  bool chooses = false;
  choice_places choice = {};
  int classes_dim = -1;
  int64_t words = 0, most = 0;  // of a class of forbidden tokens; candidates of a row that the step chooses
  int step_tokens, step_past;   // inputs of the step
  std::vector<uint64_t> step_tensors; // offsets of its inputs, then its outputs

  std::vector<beam_search> beams; // of each slot
  beam_rows placement;            // of their states
  sentence_window window;
  grouping groups;
  sentence_pack pack;
  uint64_t forbidden;             // uint32_t[1 + 2 * batch][words]: classes of tokens that rows may not choose
  uint64_t logits;                // float[rows][positions][vocabulary], or of one position where another step chooses
  uint64_t slots;                 // int32_t[batch], the argument of begin
  uint64_t prefix;                // int32_t[batch][target]: tokens given, the start token first
  uint64_t candidates;            // candidate[rows][2 * beam]
  uint64_t summaries;             // row_summary[rows]
  uint64_t tokens;                // int32_t[target + 1]: of one result; its last token is never read, so it needs no position
  uint64_t started;               // int32_t[batch]: slots of the sentences that start
  uint64_t aligned = 0;           // int32_t[target]: what the decoder reads for a result; where there is an entry that aligns, as the next
  uint64_t weights = 0;           // float[target][source]
  int64_t prefix_capacity;

private:
  void find_choice();
  void add_source(const model &m, arena_plan &plan, const entry_info &entry, source_call &call);
  void find_source_inputs(const model &m);
  void add_packed(const entry_info &entry, source_call &call) const;
  void add_align(const model &m, arena_plan &plan);
};

// Where a thread that chooses from a row of logits keeps what it needs.
struct choice_scratch {
  explicit choice_scratch(const model &m);
  uint64_t read, penalised; // int32_t, float[target]: the tokens that the decoder has read, and their logits
  uint64_t candidates;      // candidate[vocabulary]
  uint64_t bytes;           // a multiple of 64
};

} // namespace xf::rt

#endif
