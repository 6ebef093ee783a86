// The calls that groups of sentences take (grouping.h): of all threads together, one group behind the other, or of each thread on groups of
// its own.
#ifndef RUNTIME_CORE_GROUP_CALLS_H
#define RUNTIME_CORE_GROUP_CALLS_H

#include "runtime/core/function_ref.h"
#include "runtime/core/grouping.h"
#include "runtime/core/sentence_pack.h"

#include <cstdint>
#include <span>
#include <vector>

namespace xf::rt {

class session;

class group_calls {
public:
  group_calls(session &owner, const sentence_pack &pack) : session_(owner), pack_(pack) {}

  // The entries that are called for each group, in this order. `io`: the entry's inputs, then its outputs, with room for all groups. What one
  // gives and the next one takes nobody else reads: on a device it stays there.
  void add(const entry_info &entry, std::vector<void *> io);
  // The first `count` sentences of the grouping, as these calls take them; `pads`: they may be padded.
  sentence_groups split(grouping &sentences, int64_t count, bool pads) const;

  // Sentences [begin, end), behind those in `offset`.
  struct group {
    pack_offset offset;
    int32_t begin, end;
  };
  // lay_out writes a group's inputs and dimensions, those of several at the same time where threads work alone; `done` is called after the
  // group's calls, before what they wrote is overwritten. `dims` has all dimensions of the entries that lay_out does not set.
  void run(const sentence_groups &groups, int64_t *dims, function_ref<void(const group &, int64_t *dims)> lay_out,
           function_ref<void(const group &)> done) const;

private:
  struct bound_call {
    const entry_info *entry;
    std::vector<void *> io;
    std::span<void *const> inputs() const { return {io.data(), entry->inputs.size()}; }
  };
  sharing sharing_of(bool pads) const;

  session &session_;
  const sentence_pack &pack_;
  std::vector<bound_call> calls_;
};

} // namespace xf::rt

#endif
