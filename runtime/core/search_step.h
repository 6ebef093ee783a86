// A step of a search: what it is told of each row, its call, and what it gives. There may be two entries for it: one that gives logits, and one
// that ends in choosing tokens and gives candidates.
#ifndef RUNTIME_CORE_SEARCH_STEP_H
#define RUNTIME_CORE_SEARCH_STEP_H

#include "runtime/core/arena.h"
#include "runtime/core/row_choices.h"
#include "runtime/core/search_options.h"
#include "runtime/core/step_layout.h"

#include <cstdint>
#include <span>
#include <vector>

namespace xf::rt {

class search_slots;
class search_source;
class session;

class search_step {
public:
  search_step(session &owner, const model &m, const step_layout &layout);
  void bind(const arena &memory);

  const step_layout &layout() const { return layout_; }
  // Positions of each row.
  int64_t positions() const { return positions_; }
  const int64_t *dims() const { return dims_.data(); }
  // The arguments of the entry that chooses, if there is one, or of the one that gives logits.
  void *const *io(bool of_logits) const { return of_logits ? plain_io_.data() : io_.data(); }

  // Prepares a step in which all rows of the slots read their next `positions` tokens; the slots are moved on.
  void prepare(search_slots &slots, const search_source &source, const search_options &options, int64_t positions);
  // After prepare(): asks for one candidate of each row.
  void request_one();
  // The most positions that a row holds after the step.
  void set_longest(int64_t longest);

  // Runs the entry that chooses.
  void choose(row_choices &choices);
  // Runs the one that gives logits, which may be changed until the next step.
  void compute_logits();
  std::span<float> logits(int32_t row, int64_t position) const;

private:
  void request_candidates(const search_slots &slots, const search_options &options);

  session &session_;
  const model &model_;
  const xf_abi_generate &g_;
  const step_layout &layout_;
  std::vector<void *> io_, plain_io_;
  std::vector<int64_t> dims_;
  int32_t *tokens_ = nullptr, *past_ = nullptr, *slots_ = nullptr;
  float *logits_ = nullptr;
  int64_t positions_ = 1;

  // Of the step that chooses.
  struct {
    int32_t *classes;    // [rows]
    int32_t *options;    // how many candidates, whether sums of exponentials
    const float *values; // [rows][max_candidates], and so on
    const int32_t *tokens;
    const float *norms;
  } choice_ = {};
};

} // namespace xf::rt

#endif
