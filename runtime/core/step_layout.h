// The tensors of a search's steps: what they take and give, and where it lies in the session's memory.
#ifndef RUNTIME_CORE_STEP_LAYOUT_H
#define RUNTIME_CORE_STEP_LAYOUT_H

#include "runtime/core/arena.h"
#include "runtime/core/model.h"

#include <cstdint>
#include <vector>

namespace xf::rt {

// Positions of prompts that one call of the step takes: kPromptChunk of each row, and of few rows more, up to kPromptTokens of all together,
// as products of 32 tokens read their weights too often.
constexpr int64_t kPromptChunk = 32, kPromptTokens = 256;

// Indices of what a step that chooses takes and gives besides the plain step's arguments, among its inputs and outputs.
struct choice_indices {
  int forbidden, classes, options, values, tokens, norms;
};

struct step_layout {
  step_layout(const model &m, arena_plan &plan);
  const tensor_info &token_input() const { return entry->inputs[tokens]; }

  int64_t rows, chunk, vocabulary; // chunk: positions of a row that one call takes
  const entry_info *entry;         // the one that chooses, if there is one
  const entry_info *plain;         // the one that gives logits; its inputs are the first of the other's
  bool chooses;
  int tokens, past;  // inputs
  int logits_output; // of the plain step
  choice_indices choice = {};
  int classes_dim = -1;
  int64_t words, max_candidates = 0; // of a class of forbidden tokens; candidates of a row that the step chooses

  std::vector<uint64_t> tensors; // offsets of its inputs, then its outputs
  uint64_t forbidden;            // uint32_t[1 + 2 * batch][words]: classes of tokens that rows may not choose
  uint64_t logits;               // float[rows][positions][vocabulary], or of one position where another step chooses

private:
  void find_choice();
};

} // namespace xf::rt

#endif
