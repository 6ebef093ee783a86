// Chooses tokens from the logits that a search's step leaves on a device, where the step does not choose itself, or where logits are changed
// before: kernels of the search do what host_choice does on the host.
#ifndef RUNTIME_DEVICE_LOGIT_CHOICE_H
#define RUNTIME_DEVICE_LOGIT_CHOICE_H

#include "runtime/device/device_memory.h"
#include "runtime/device/executor.h"

#include <array>
#include <cstdint>
#include <vector>

namespace xf::rt {

class row_choices;
class search_slots;
struct sampling;
struct search_options;
struct step_layout;

// Where on a device a step's candidates are, as xf_abi_generate says of a step that chooses; rows are `row_stride` elements apart.
struct candidate_buffers {
  uint8_t *values, *tokens, *norms, *options, *classes;
  int64_t row_stride;
};

class logit_choice {
public:
  logit_choice(device_executor &executor, const step_layout &layout);

  // Whether a device can draw so: from few tokens, or from all.
  bool can_draw(const sampling &params) const;

  // Begins with what the rows may choose, and what they have read. Like choose() and move_rows(), it is called inside the executor's submit();
  // nothing that was asked for before may still be under way.
  void begin(const search_slots &slots, const search_options &options);
  // Behind a step: the candidates of its rows, or what is drawn for them; `sentences` as advance has it (xf_abi.h).
  void choose(const xf_abi_view &sentences, int64_t beams);
  // Moves what is noted of rows to where their states go; `moves` as device_executor::move_rows has it.
  void move_rows(const uint8_t *moves, int64_t count);

  candidate_buffers candidates() const;
  // What launches depend on besides the step.
  std::array<int64_t, 3> kind() const { return {reinterpret_cast<int64_t>(memory_.get()), classes_, static_cast<int64_t>(use_)}; }

  // Scores results that are given: runs a step of the entry that gives logits, whose arguments these are and which reads `positions` positions
  // of each row, and writes the logit of each of their tokens and the row's summary to `choices`.
  void score(const int64_t *dims, void *const *io, int64_t positions, const search_slots &slots, const search_options &options, row_choices &choices);

private:
  struct memory_layout {
    memory_layout(const logit_choice &choice);
    // Written by the host,
    uint64_t rules, how, options, classes, targets, draws, forbidden, read;
    // and by the device.
    uint64_t norms, logits, values, tokens, parts, end;
  };
  enum use : uint32_t { kChanges = 1, kDraws = 2, kScores = 4 };
  bool has(use what) const { return (use_ & what) != 0; }
  void reserve(uint32_t uses, int64_t rows, const search_slots &slots);
  void upload(const search_slots &slots);
  bool draws_of_all(const sampling &params) const;
  void write_options(int32_t found, int32_t taken, bool sums);
  void write_draws(const search_slots &slots, const search_options &options);
  void write_targets(const search_slots &slots, const search_options &options, int64_t positions);
  void find_candidates();
  xf_abi_view row_view(uint64_t offset, int64_t width = 1) const;
  xf_abi_view forbidden() const;
  xf_abi_view logits() const;
  int64_t logits_row(int64_t row, int64_t position, int64_t positions) const;
  void write_read_tokens(const search_slots &slots, int32_t row);
  template <typename T = int32_t> T *staged(uint64_t offset) const { return reinterpret_cast<T *>(staging_.get() + offset); }

  device_executor &executor_;
  const step_layout &layout_;
  int64_t parts_, positions_; // of a row: what lies between stages, and what it can have read
  uint32_t use_ = 0;
  int64_t rows_ = 0, classes_ = 0; // rows of logits
  memory_layout offsets_;
  device_memory memory_;
  host_memory staging_;
  std::vector<uint32_t> is_read_; // of a row: a bit for each token
};

} // namespace xf::rt

#endif
