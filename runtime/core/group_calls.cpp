#include "runtime/core/group_calls.h"

#include "runtime/core/session.h"

#include <algorithm>

namespace xf::rt {

namespace {

// Calls f for groups [first, end), each behind those before it.
template <typename F> void walk(const sentence_groups &groups, size_t first, size_t end, F f) {
  group_calls::group group{};
  group.offset.longest = *std::max_element(groups.lengths.begin(), groups.lengths.end());
  for (size_t i = 0; i < end; ++i) {
    group.begin = groups.begin(i);
    group.end = groups.ends[i];
    group.offset.sentences = group.begin;
    if (i >= first)
      f(group);
    for (int32_t index = group.begin; index < group.end; ++index)
      group.offset.tokens += groups.lengths[index];
  }
}

} // namespace

void group_calls::add(const entry_info &entry, std::vector<void *> io) { calls_.push_back({&entry, std::move(io)}); }

// How groups may share their calls.
sharing group_calls::sharing_of(bool pads) const {
  if (!pack_.entry())
    return pads ? sharing::padded : sharing::equal;
  bool per_thread = !session_.executor() &&
                    std::all_of(calls_.begin(), calls_.end(), [&](const bound_call &call) { return pack_.has_parts(*call.entry); });
  return per_thread ? sharing::per_thread : sharing::packed;
}

sentence_groups group_calls::split(grouping &sentences, int64_t count, bool pads) const {
  return sentences.split(count, session_.threads(), session_.tokens_at_once(), sharing_of(pads));
}

void group_calls::run(const sentence_groups &groups, int64_t *dims, function_ref<void(const group &, int64_t *dims)> lay_out,
                      function_ref<void(const group &)> done) const {
  if (groups.threads.empty()) {
    for (size_t i = 0; i < groups.ends.size(); ++i) {
      group all{{}, groups.begin(i), groups.ends[i]};
      lay_out(all, dims);
      for (size_t n = 0; n < calls_.size(); ++n)
        session_.call(*calls_[n].entry, dims, calls_[n].io.data(), n + 1 < calls_.size() ? calls_[n + 1].inputs() : std::span<void *const>());
      done(all);
    }
    return;
  }
  const model &m = session_.get_model();
  session_.run_per_thread([&](int thread, lone_caller &caller) {
    for (int64_t *target : {caller.dims(), caller.offset_dims()})
      std::copy_n(dims, m.dims().size(), target);
    size_t first = thread == 0 ? 0 : static_cast<size_t>(groups.threads[thread - 1]);
    walk(groups, first, static_cast<size_t>(groups.threads[thread]), [&](const group &part) {
      lay_out(part, caller.dims());
      pack_.set_offset_dims(part.offset, caller.offset_dims());
      for (const bound_call &call : calls_)
        caller.call(*call.entry, call.io.data(), [&](const tensor_info &tensor) { return m.bytes(tensor, caller.offset_dims()); });
    });
  });
  walk(groups, 0, groups.ends.size(), done);
}

} // namespace xf::rt
