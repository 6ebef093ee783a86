// Choosing from whole rows of logits, on the host: for models whose logits are no matrix product, and for searches that want
// more of them than a step that chooses is asked for.
#ifndef RUNTIME_CORE_HOST_CHOICE_H
#define RUNTIME_CORE_HOST_CHOICE_H

#include "runtime/core/arena.h"
#include "runtime/core/model.h"
#include "runtime/core/row_choices.h"
#include "runtime/core/row_sample.h"
#include "runtime/core/search_options.h"

#include <cstdint>

namespace xf::rt {

class search_slots;
class search_step;
class session;

// Where a thread that chooses from a row of logits keeps what it needs.
struct choice_scratch {
  explicit choice_scratch(const model &m);
  uint64_t read, penalised; // int32_t, float[target]: the tokens that the decoder has read, and their logits
  uint64_t candidates;      // candidate[vocabulary]
  uint64_t bytes;           // a multiple of 64
};

class host_choice {
public:
  host_choice(session &owner, const model &m, const search_slots &slots, const search_step &step, row_choices &choices, arena_plan &plan);
  void bind(const arena &memory);

  // Finds the candidates of each row whose sentence is ready, from the logits of its last position.
  void choose(const search_options &options);
  // Where results are given: the decoder reads them as it reads a prompt, several positions at once, and each position's logits score the
  // token behind it. Position n of row r has the choices of row r * positions + n: its token alone, or none where the model rules out all.
  void score(const search_options &options);

private:
  void choose_of_row(int32_t row, const search_options &options, uint8_t *scratch);
  int32_t draw(int32_t row, const float *logits, const search_options &options, candidate *scratch);
  void score_position(int32_t row, int64_t position, const search_options &options);

  session &session_;
  const search_slots &slots_;
  const search_step &step_;
  row_choices &choices_;
  choice_scratch scratch_layout_; // of a thread
  uint64_t scratch_offset_;
  uint8_t *scratch_ = nullptr; // [threads]
  row_reducer reduce_ = nullptr;
  row_sampler sample_ = nullptr;
};

} // namespace xf::rt

#endif
