// Where the search keeps its tensors and bookkeeping in the session's memory, for the model's limits.
#ifndef RUNTIME_CORE_SEARCH_LAYOUT_H
#define RUNTIME_CORE_SEARCH_LAYOUT_H

#include "runtime/core/result_aligner.h"
#include "runtime/core/row_choices.h"
#include "runtime/core/search_slots.h"
#include "runtime/core/source_layout.h"
#include "runtime/core/step_layout.h"

#include <cstdint>

namespace xf::rt {

struct search_layout {
  search_layout(const model &m, arena_plan &plan)
      : batch(m.header().generate.batch), beam(m.header().generate.beam), source(m, plan), step(m, plan), align(m, source, plan),
        slots(m.header().generate, plan), choices(plan, step.rows, beam), tokens(plan.add(m.header().generate.target + 1, sizeof(int32_t))) {}

  int64_t batch, beam;
  source_layout source;
  step_layout step;
  align_layout align;
  search_slots slots;
  row_choices choices;
  uint64_t tokens; // int32_t[target + 1]: of one result; its last token is never read, so it needs no position
};

} // namespace xf::rt

#endif
