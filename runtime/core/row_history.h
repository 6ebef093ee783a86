// Which rows of a search's states hold the same, so that a beam that takes another row copies only what is not there already:
// the beams of a sentence have all but their last few positions in common.
#ifndef RUNTIME_CORE_ROW_HISTORY_H
#define RUNTIME_CORE_ROW_HISTORY_H

#include "runtime/core/arena.h"

#include <cstdint>

namespace xf::rt {

// Each position of a row that a step has written gets an id that no other has; copies take it along.
class row_history {
public:
  row_history(arena_plan &plan, int64_t rows, int64_t positions);
  void bind(const arena &memory) { ids_ = memory.as<uint64_t>(ids_offset_), lengths_ = memory.as<int64_t>(lengths_offset_); }

  // What rows hold is unknown now.
  void forget() { first_valid_ = next_id_; }
  // A step has written `count` positions of a row behind its first `past`.
  void append(int32_t row, int64_t past, int64_t count);
  // How many of the first `positions` of row `from` row `to` holds, too.
  int64_t shared(int32_t from, int32_t to, int64_t positions) const;
  // Row `to` holds the first `positions` of row `from` now, and nothing that is known behind them.
  void copy(int32_t from, int32_t to, int64_t positions);

private:
  uint64_t *of(int32_t row) const { return ids_ + row * positions_; }

  int64_t positions_;
  uint64_t ids_offset_, lengths_offset_;
  uint64_t *ids_ = nullptr;    // [row][position]
  int64_t *lengths_ = nullptr; // [row]: how many positions have ids
  uint64_t next_id_ = 1, first_valid_ = 1;
};

} // namespace xf::rt

#endif
