// Alignments: how much each token of a result looks at each of its source. The search's steps leave out what only that needs; the model's
// own entry computes it of a sentence that is done, from the source and from all that the decoder read for the result.
#ifndef RUNTIME_CORE_RESULT_ALIGNER_H
#define RUNTIME_CORE_RESULT_ALIGNER_H

#include "runtime/core/arena.h"
#include "runtime/core/model.h"
#include "runtime/core/sinks.h"

#include <cstdint>
#include <vector>

namespace xf::rt {

class search_source;
class session;
struct hypothesis;
struct slot;
struct source_layout;

// What the entry's arguments are besides tensors of the source: the target's tokens, and its result.
constexpr int kAlignedArgument = -1, kWeightsArgument = -2;

struct align_layout {
  align_layout(const model &m, const source_layout &source, arena_plan &plan);

  const entry_info *entry = nullptr; // of one sentence and one result; null: the model does not say
  std::vector<int> arguments;        // indices into the source's tensors, or one of the above
  int64_t min_size = 1, min_source = 1; // results or target tokens that it needs; source positions
  bool separable = true;  // whether one of several sentences can be taken out of the source's tensors, as their rows
  uint64_t read = 0;      // int32_t[target + 1]: what the decoder reads for a result, and behind it the result's last token
  uint64_t weights = 0;   // float[target][source]
};

class result_aligner {
public:
  result_aligner(session &owner, const model &m, const align_layout &layout, search_source &source);
  void bind(const arena &memory);

  // Results of this sentence follow.
  void start(int64_t sentence);
  // The alignment of a result of the slot's sentence; valid until the next one.
  alignment align(const slot &s, const hypothesis &h);
  // How well a result covers the sentence's tokens that are no padding: the sum of log min(1, how much all its tokens look at one).
  double coverage(int64_t sentence, const alignment &found) const;

private:
  session &session_;
  const xf_abi_generate &g_;
  const align_layout &layout_;
  search_source &source_;
  int32_t *read_ = nullptr;
  float *weights_ = nullptr;
  std::vector<int64_t> dims_;
  std::vector<void *> io_;
};

} // namespace xf::rt

#endif
