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
  tokens_offset_ = plan.add(g.batch * g.source, sizeof(int32_t));
  positions_offset_ = plan.add(g.batch * g.source, sizeof(int32_t));
  spans_offset_ = plan.add(g.batch * 2, sizeof(int32_t));
  has_types_ = entry_->find_input("xf.types") >= 0;
  types_offset_ = plan.add(has_types_ ? g.batch * g.source : 0, sizeof(int32_t));
}

void sentence_pack::bind(const arena &memory) {
  if (!entry_)
    return;
  tokens_ = memory.as<int32_t>(tokens_offset_);
  positions_ = memory.as<int32_t>(positions_offset_);
  spans_ = memory.as<int32_t>(spans_offset_);
  types_ = has_types_ ? memory.as<int32_t>(types_offset_) : nullptr;
}

void sentence_pack::set_dims(int64_t count, int64_t longest, int64_t tokens, int64_t *dims) const {
  dims[batch_dim_] = count;
  dims[source_dim_] = longest;
  if (entry_)
    dims[dim_] = tokens;
}

void sentence_pack::add(const pack_offset &offset, const location &at, std::span<const int32_t> ids, int32_t pad, int32_t *padded) const {
  auto token = [&](int64_t i) { return i < static_cast<int64_t>(ids.size()) ? ids[i] : pad; };
  for (int64_t i = 0; i < at.longest; ++i)
    padded[at.in_padded(i, sequence_first_)] = token(i);
  if (!entry_)
    return;
  int32_t *span = spans_ + 2 * (offset.sentences + at.b);
  span[0] = static_cast<int32_t>(at.tokens);
  span[1] = static_cast<int32_t>(at.length);
  for (int64_t i = 0; i < at.length; ++i) {
    tokens_[offset.tokens + at.tokens + i] = token(i);
    positions_[offset.tokens + at.tokens + i] = static_cast<int32_t>(i);
  }
}

void sentence_pack::add_types(const pack_offset &offset, const location &at, int64_t first, int32_t *padded) const {
  for (int64_t i = 0; i < at.longest; ++i)
    padded[at.in_padded(i, sequence_first_)] = i >= first && i < at.length;
  for (int64_t i = 0; types_ && i < at.length; ++i)
    types_[offset.tokens + at.tokens + i] = i >= first;
}

bool sentence_pack::has_parts(const entry_info &entry) const {
  if (!entry_ || entry.kind != XF_ABI_ENTRY_PACKED)
    return false;
  auto is_part = [&](const tensor_info &tensor) {
    // [B, ..], or [P, ..], or [1, P, ..].
    bool found = false;
    for (size_t axis = 0; axis < tensor.dim.size(); ++axis) {
      int dim = tensor.dimension(axis);
      if (dim != batch_dim_ && dim != dim_)
        continue;
      if (found || (axis > 0 && (axis > 1 || dim != dim_ || tensor.dim[0] != 1)))
        return false;
      found = true;
    }
    return found;
  };
  return std::all_of(entry.inputs.begin(), entry.inputs.end(), is_part) && std::all_of(entry.outputs.begin(), entry.outputs.end(), is_part);
}

void *sentence_pack::argument(std::string_view name) const {
  return name == "xf.tokens" ? tokens_ : name == "xf.positions" ? positions_ : name == "xf.spans" ? spans_ : name == "xf.types" ? types_ : nullptr;
}

} // namespace xf::rt
