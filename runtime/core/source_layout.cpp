#include "runtime/core/source_layout.h"

#include <algorithm>

namespace xf::rt {

source_layout::source_layout(const model &m, arena_plan &plan)
    : batch(m.header().generate.batch), window(plan, batch), groups(plan, batch),
      pack(m, std::max(m.header().generate.packed_encode, m.header().generate.packed_begin), plan) {
  const xf_abi_generate &g = m.header().generate;
  add(m, plan, g.encode, encode);
  add(m, plan, g.begin, begin);
  add_packed(m, g.packed_encode, packed_encode);
  add_packed(m, g.packed_begin, packed_begin);
  find_required(g);
  slots = plan.add(batch, sizeof(int32_t));
  started = plan.add(batch, sizeof(int32_t));
}

std::string source_layout::refuses_tokens() const {
  if (tokens < 0 && exists())
    return "the model's source is '" + other_input + "', which is not made of tokens";
  return other_input.empty() ? "" : "the model takes '" + other_input + "' beside its tokens: it cannot be searched from tokens alone";
}

int source_layout::find(std::string_view name) const {
  for (size_t i = tensors.size(); i > 0; --i)
    if (tensors[i - 1].info.name == name)
      return static_cast<int>(i - 1);
  return -1;
}

void source_layout::add(const model &m, arena_plan &plan, int32_t index, source_call &call) {
  if (index < 0)
    return;
  const entry_info &entry = m.entries()[index];
  std::vector<int64_t> dims;
  for (const dim_info &dim : m.dims())
    dims.push_back(dim.max);
  dims[m.header().generate.batch_dim] = batch;
  if (m.header().generate.source_dim >= 0)
    dims[m.header().generate.source_dim] = m.header().generate.source;
  call.entry = &entry;
  for (const auto *list : {&entry.inputs, &entry.outputs})
    for (const tensor_info &tensor : *list) {
      if (list == &entry.inputs && tensor.name == "xf.slots") {
        call.arguments.push_back(kSlotsArgument);
        continue;
      }
      // An input is what an earlier entry took or gave under its name; the later of those.
      int found = list == &entry.inputs ? find(tensor.name) : -1;
      if (found < 0) {
        found = static_cast<int>(tensors.size());
        tensors.push_back({tensor, plan.add(m.bytes(tensor, dims.data()), 1)});
      } else if (int64_t &bound = tensors[found].info.bound; tensor.bound > 0) {
        bound = bound > 0 ? std::min(bound, tensor.bound) : tensor.bound;
      }
      call.arguments.push_back(found);
    }
}

// A twin's tensors take no more than those of the same names.
void source_layout::add_packed(const model &m, int32_t index, source_call &call) const {
  if (index < 0)
    return;
  call.entry = &m.entries()[index];
  for (const auto *list : {&call.entry->inputs, &call.entry->outputs})
    for (const tensor_info &tensor : *list) {
      int found = find(tensor.name);
      call.arguments.push_back(found >= 0 ? found : tensor.name == "xf.slots" ? kSlotsArgument : kPackArgument);
    }
}

void source_layout::find_required(const xf_abi_generate &g) {
  int first = g.sequence_first ? g.source_dim : g.batch_dim;
  int second = g.sequence_first ? g.batch_dim : g.source_dim;
  for (const source_call *call : {&encode, &begin}) {
    if (!call->entry)
      continue;
    required.name = required.name.empty() ? call->entry->name : required.name;
    for (size_t i = 0; i < call->entry->inputs.size(); ++i) {
      const tensor_info &tensor = call->entry->inputs[i];
      min_batch = std::max(min_batch, tensor.min_size_of(g.batch_dim));
      min_length = std::max(min_length, tensor.min_size_of(g.source_dim));
      bool produced = call == &begin && encode.entry && encode.entry->find_output(tensor.name) >= 0;
      if (call->arguments[i] < 0 || produced || required.find_input(tensor.name) >= 0)
        continue;
      required.inputs.push_back(tensors[call->arguments[i]].info);
      required_indices.push_back(call->arguments[i]);
      bool is_tokens = tensor.dtype == XF_ABI_I32 && tensor.dim.size() == 2 && tensor.dimension(0) == first && tensor.dimension(1) == second;
      if (is_tokens && tokens < 0)
        tokens = call->arguments[i];
      else
        other_input = tensor.name;
    }
  }
}

} // namespace xf::rt
