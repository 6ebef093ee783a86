#include "runtime/core/sentence_pack.h"

namespace xf::rt {

sentence_pack::sentence_pack(const entry_info *entry, int64_t batch, int64_t source, arena_plan &plan) {
  if (!entry)
    return;
  dim_ = entry->inputs[entry->find_input("xf.tokens")].dimension(1);
  tokens_place_ = plan.add(batch * source, sizeof(int32_t));
  positions_place_ = plan.add(batch * source, sizeof(int32_t));
  spans_place_ = plan.add(batch * 2, sizeof(int32_t));
}

void sentence_pack::bind(const arena &memory) {
  if (!is_present())
    return;
  tokens_ = memory.as<int32_t>(tokens_place_);
  positions_ = memory.as<int32_t>(positions_place_);
  spans_ = memory.as<int32_t>(spans_place_);
}

void sentence_pack::add(std::span<const int32_t> ids, int64_t length, int32_t pad) {
  spans_[2 * count_] = static_cast<int32_t>(tokens_in_all_);
  spans_[2 * count_ + 1] = static_cast<int32_t>(length);
  for (int64_t i = 0; i < length; ++i) {
    tokens_[tokens_in_all_ + i] = i < static_cast<int64_t>(ids.size()) ? ids[i] : pad;
    positions_[tokens_in_all_ + i] = static_cast<int32_t>(i);
  }
  tokens_in_all_ += length;
  ++count_;
}

void *sentence_pack::argument(std::string_view name) const {
  return name == "xf.tokens" ? tokens_ : name == "xf.positions" ? positions_ : name == "xf.spans" ? spans_ : nullptr;
}

} // namespace xf::rt
