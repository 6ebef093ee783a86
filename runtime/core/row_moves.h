// Copies of states from row to row.
#ifndef RUNTIME_CORE_ROW_MOVES_H
#define RUNTIME_CORE_ROW_MOVES_H

#include <cstdint>
#include <span>

namespace xf::rt {

class session;

// Row `to` is to hold the first `positions` of row `from`, of which it has the first `first` already.
struct row_move {
  int32_t from, to;
  int64_t first, positions;
};

// Does these moves, of which none reads what another writes, in the states of the session's search: on its device, or by its threads.
void move_rows(session &owner, std::span<const row_move> moves);

} // namespace xf::rt

#endif
