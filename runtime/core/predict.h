// Encoder-only models: sentences in, one row of values for each sentence or each of its tokens out.
#ifndef RUNTIME_CORE_PREDICT_H
#define RUNTIME_CORE_PREDICT_H

#include "runtime/core/arena.h"
#include "runtime/core/group_calls.h"
#include "runtime/core/model.h"
#include "runtime/core/refusal.h"
#include "runtime/core/sentence_pack.h"
#include "runtime/core/sentence_window.h"
#include "runtime/core/sinks.h"

#include <cstdint>
#include <span>
#include <vector>

namespace xf::rt {

class session;

// How many of a sentence's tokens are of the first of two texts: those up to the first tokens that stand between texts, these included, or all.
int64_t first_text(const xf_abi_text &text, std::span<const int32_t> ids);

struct predict_layout {
  predict_layout(const model &m, arena_plan &plan);

  const entry_info *entry;
  size_t tokens; // which of the entry's inputs
  const char *problem = nullptr; // why lines cannot be predicted from their tokens alone, if they cannot
  int64_t batch, width = 0;
  bool by_token = false; // a row for each token, or one for the sentence
  std::vector<uint64_t> tensors; // offsets of the entry's inputs, then its outputs
  sentence_window window;
  grouping groups;
  sentence_pack pack; // of the entry's twin

private:
  void check_shapes(const xf_abi_generate &limits, const tensor_info &output, bool has_types);
};

class predictor {
public:
  predictor(session &owner, const model &m, arena_plan &plan);
  void bind(const arena &memory);
  const predict_layout &layout() const { return layout_; }

  // Throws if it cannot predict at all, or not so many sentences at once.
  void check(int32_t batch) const;

  // At most `batch` sentences at once; 0: the model's limit.
  void predict(const token_rows &rows, int32_t batch, predict_sink &sink);

private:
  const char *refuse(std::span<const int32_t> ids);
  // Predicts sentences that wait in the window.
  void predict_groups(const sentence_groups &groups, predict_sink &sink);

  const model &model_;
  const xf_abi_generate &limits_;
  const xf_abi_predict &roles_;
  predict_layout layout_;
  group_calls calls_;
  std::vector<void *> io_;
  std::vector<int64_t> dims_;
  refusal refusal_;
};

} // namespace xf::rt

#endif
