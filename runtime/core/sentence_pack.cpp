#include "runtime/core/sentence_pack.h"

namespace xf::rt {

sentence_pack::sentence_pack(const model &m, int32_t entry, arena_plan &plan) : entry_(entry >= 0 ? &m.entries()[entry] : nullptr) {
  const xf_abi_generate &g = m.header().generate;
  batch_dim_ = g.batch_dim;
  source_dim_ = g.source_dim;
  sequence_first_ = g.sequence_first != 0;
  if (!entry_)
    return;
  dim_ = entry_->inputs[entry_->find_input("xf.tokens")].dimension(1);
  tokens_place_ = plan.add(g.batch * g.source, sizeof(int32_t));
  positions_place_ = plan.add(g.batch * g.source, sizeof(int32_t));
  spans_place_ = plan.add(g.batch * 2, sizeof(int32_t));
  has_types_ = entry_->find_input("xf.types") >= 0;
  types_place_ = plan.add(has_types_ ? g.batch * g.source : 0, sizeof(int32_t));
}

void sentence_pack::bind(const arena &memory) {
  if (!entry_)
    return;
  tokens_ = memory.as<int32_t>(tokens_place_);
  positions_ = memory.as<int32_t>(positions_place_);
  spans_ = memory.as<int32_t>(spans_place_);
  types_ = has_types_ ? memory.as<int32_t>(types_place_) : nullptr;
}

void sentence_pack::start(int64_t count, int64_t longest, int64_t *dims) {
  count_ = count;
  longest_ = longest;
  tokens_in_all_ = 0;
  dims[batch_dim_] = count;
  dims[source_dim_] = longest;
}

void sentence_pack::add(int64_t b, std::span<const int32_t> ids, int64_t length, int32_t pad, int32_t *padded) {
  auto token = [&](int64_t i) { return i < static_cast<int64_t>(ids.size()) ? ids[i] : pad; };
  for (int64_t i = 0; i < longest_; ++i)
    padded[place(b, i)] = token(i);
  if (!entry_)
    return;
  spans_[2 * b] = static_cast<int32_t>(tokens_in_all_);
  spans_[2 * b + 1] = static_cast<int32_t>(length);
  for (int64_t i = 0; i < length; ++i) {
    tokens_[tokens_in_all_ + i] = token(i);
    positions_[tokens_in_all_ + i] = static_cast<int32_t>(i);
  }
  tokens_in_all_ += length;
}

void sentence_pack::add_types(int64_t b, int64_t first, int64_t length, int32_t *padded) {
  for (int64_t i = 0; i < longest_; ++i)
    padded[place(b, i)] = i >= first && i < length;
  for (int64_t i = 0; types_ && i < length; ++i)
    types_[spans_[2 * b] + i] = i >= first;
}

void *sentence_pack::argument(std::string_view name) const {
  return name == "xf.tokens"      ? tokens_
         : name == "xf.positions" ? positions_
         : name == "xf.spans"     ? spans_
         : name == "xf.types"     ? types_
                                  : nullptr;
}

} // namespace xf::rt
