#include "runtime/core/search_slots.h"

#include <algorithm>

namespace xf::rt {

search_slots::search_slots(const xf_abi_generate &g, arena_plan &plan)
    : slots_(static_cast<size_t>(g.batch)), rows_(plan, g.batch, g.beam, g.target), after_(static_cast<size_t>(g.batch)), prefix_capacity_(g.target),
      prefixes_offset_(plan.add(g.batch * g.target, sizeof(int32_t))) {
  for (slot &s : slots_)
    s.beams.plan(plan, g.beam, g.target);
}

void search_slots::bind(const arena &memory, uint32_t *forbidden, int64_t words) {
  int32_t *prefix = memory.as<int32_t>(prefixes_offset_);
  for (slot &s : slots_) {
    s.beams.bind(memory);
    s.prefix = prefix;
    prefix += prefix_capacity_;
  }
  rows_.bind(memory);
  classes_.bind(forbidden, words, static_cast<int64_t>(slots_.size()));
}

void search_slots::start(int32_t count, std::span<const int32_t> suppressed, const shortlist *allowed, const end_tokens &ends) {
  classes_.start(suppressed, allowed, ends);
  rows_.forget();
  rows_.clear();
  count_ = count;
  taken_ = 0;
  for (slot &s : slots_)
    s.sentence = -1;
}

slot &search_slots::open(int32_t index, int64_t sentence, std::span<const int32_t> source) {
  slot &s = at(index);
  s.sentence = sentence;
  s.past = 0;
  s.prefix_length = s.prefix_used = s.given = 0;
  s.ready = s.failed = false;
  classes_.open(index, source);
  rows_.open(index);
  ++taken_;
  return s;
}

void search_slots::close(int32_t index) {
  at(index).sentence = -1;
  --taken_;
  classes_.close(index);
}

bool search_slots::any_ready() const {
  bool any = false;
  for_each([&](int32_t, const slot &s) { any |= s.ready; });
  return any;
}

int64_t search_slots::longest() const {
  int64_t longest = 0;
  for_each([&](int32_t, const slot &s) { longest = std::max(longest, s.past); });
  return longest;
}

void search_slots::set_rows(int32_t index, std::span<const int32_t> rows) { std::copy(rows.begin(), rows.end(), rows_.of(index)); }

int32_t search_slots::next_token(int32_t row, int64_t ahead) const {
  const slot &s = of_row(row);
  return s.prefix_used < s.prefix_length ? s.prefix[s.prefix_used + ahead] : s.beams.beam(rows_.beam_of(row)).token;
}

std::span<const int32_t> search_slots::tokens_read(int32_t row, int32_t *tokens) const {
  const slot &s = of_row(row);
  std::copy_n(s.prefix, s.prefix_length, tokens);
  s.beams.tokens_of(rows_.beam_of(row), tokens + s.prefix_length);
  return {tokens, static_cast<size_t>(s.prefix_length + s.beams.produced())};
}

void search_slots::read(int64_t positions) {
  for (int32_t row = 0; row < rows_.count(); ++row)
    rows_.append(row, of_row(row).past, positions);
  for_each([&](int32_t, slot &s) {
    s.past += positions;
    if (s.prefix_used < s.prefix_length)
      s.prefix_used += static_cast<int32_t>(positions);
    s.ready = s.prefix_used >= s.given;
  });
}

std::span<const row_move> search_slots::regroup(bool have_moved) {
  std::fill_n(after_.begin(), count_, slot_beams{});
  for_each([&](int32_t index, const slot &s) {
    slot_beams &after = after_[static_cast<size_t>(index)];
    after = {1, nullptr, s.past}; // reads its prompt
    if (s.ready)
      after = {s.beams.open(), have_moved ? nullptr : &s.beams.beam(0), s.past};
  });
  return rows_.regroup({after_.data(), static_cast<size_t>(count_)});
}

int32_t search_slots::class_of(int32_t row) const {
  const slot &s = of_row(row);
  return s.ready ? classes_.of(rows_.slot_of(row), s.may_end()) : token_classes::kNone;
}

std::optional<scored_target> search_slots::target_of(int32_t row, int64_t position, int64_t positions, const token_rows &targets) const {
  const slot &s = of_row(row);
  int64_t index = s.scored(position, positions);
  if (!s.ready || index < 0)
    return std::nullopt;
  return scored_target{classes_.of(rows_.slot_of(row), /*may_end=*/index >= s.min_length), targets.row(s.sentence)[static_cast<size_t>(index)]};
}

} // namespace xf::rt
