#include "runtime/core/search_layout.h"

#include <algorithm>

namespace xf::rt {

search_layout::search_layout(const model &m, arena_plan &plan)
    : placement(plan, m.header().generate.batch, m.header().generate.beam, m.header().generate.target),
      window(plan, m.header().generate.batch), groups(plan, m.header().generate.batch),
      pack(m, std::max(m.header().generate.packed_encode, m.header().generate.packed_begin), plan) {
  const xf_abi_generate &g = m.header().generate;
  batch = g.batch;
  beam = g.beam;
  rows = batch * beam;
  chunk = std::min<int64_t>({m.dims()[g.new_dim].max, kPromptTokens, g.target});
  vocabulary = m.entries()[g.step].outputs[g.logits_output].dim[2];
  chooses = g.choose >= 0;
  plain = &m.entries()[g.step];
  step = chooses ? &m.entries()[g.choose] : plain;
  step_tokens = g.tokens_input;
  step_past = step->find_input("xf.past");
  if (chooses)
    find_choice();

  if (g.encode >= 0)
    add_source(m, plan, m.entries()[g.encode], encode);
  if (g.begin >= 0)
    add_source(m, plan, m.entries()[g.begin], begin);
  find_source_inputs(m);
  if (g.packed_encode >= 0)
    add_packed(m.entries()[g.packed_encode], packed_encode);
  if (g.packed_begin >= 0)
    add_packed(m.entries()[g.packed_begin], packed_begin);
  if (g.align >= 0)
    add_align(m, plan);

  std::vector<int64_t> dims;
  for (const dim_info &dim : m.dims())
    dims.push_back(dim.max);
  auto bytes = [&](const tensor_info &tensor, int64_t own_rows, int64_t positions) {
    dims[g.batch_dim] = own_rows;
    dims[g.new_dim] = std::min(chunk, positions);
    return m.bytes(tensor, dims.data());
  };
  for (const auto *tensors : {&step->inputs, &step->outputs})
    for (const tensor_info &tensor : *tensors)
      step_tensors.push_back(plan.add(std::max(bytes(tensor, rows, kPromptChunk), bytes(tensor, 1, kPromptTokens)), 1));
  if (chooses) {
    forbidden = step_tensors[choice.forbidden];
    logits = plan.add(rows * vocabulary, sizeof(float));
  } else {
    words = (vocabulary + 31) / 32;
    forbidden = plan.add((1 + 2 * batch) * words, sizeof(uint32_t));
    logits = step_tensors[step->inputs.size() + g.logits_output];
  }

  beams.resize(batch);
  for (beam_search &search : beams)
    search.plan(plan, beam, g.target);
  prefix_capacity = g.target;
  slots = plan.add(batch, sizeof(int32_t));
  prefix = plan.add(batch * prefix_capacity, sizeof(int32_t));
  candidates = plan.add(rows * 2 * beam, sizeof(candidate));
  summaries = plan.add(rows, sizeof(row_summary));
  tokens = plan.add(g.target + 1, sizeof(int32_t));
  started = plan.add(batch, sizeof(int32_t));
}

choice_scratch::choice_scratch(const model &m) {
  arena_plan plan;
  const xf_abi_generate &g = m.header().generate;
  read = plan.add(g.target, sizeof(int32_t));
  penalised = plan.add(g.target, sizeof(float));
  candidates = plan.add(m.entries()[g.step].outputs[g.logits_output].dim[2], sizeof(candidate));
  bytes = (plan.bytes() + 63) / 64 * 64;
}

void search_layout::find_choice() {
  choice = {step->find_input("xf.forbidden"), step->find_input("xf.classes"), step->find_input("xf.options"),
            step->find_output("xf.values"),   step->find_output("xf.tokens"), step->find_output("xf.norms")};
  classes_dim = step->inputs[choice.forbidden].dimension(0);
  words = step->inputs[choice.forbidden].dim[1];
  most = step->outputs[choice.values].dim[1];
}

std::string search_layout::refuses_tokens() const {
  if (source_tokens < 0 && (encode.entry || begin.entry))
    return "the model's source is '" + other_input + "', which is not made of tokens";
  return other_input.empty() ? "" : "the model takes '" + other_input + "' beside its tokens: it cannot be searched from tokens alone";
}

void search_layout::add_source(const model &m, arena_plan &plan, const entry_info &entry, source_call &call) {
  std::vector<int64_t> dims;
  for (const dim_info &dim : m.dims())
    dims.push_back(dim.max);
  dims[m.header().generate.batch_dim] = batch;
  if (m.header().generate.source_dim >= 0)
    dims[m.header().generate.source_dim] = m.header().generate.source;
  call.entry = &entry;
  for (const auto *tensors : {&entry.inputs, &entry.outputs})
    for (const tensor_info &tensor : *tensors) {
      if (tensors == &entry.inputs && tensor.name == "xf.slots") {
        call.arguments.push_back(kSlotsArgument);
        continue;
      }
      // An input is what an earlier entry took or gave under its name; the later of those.
      int found = -1;
      if (tensors == &entry.inputs)
        for (size_t i = 0; i < source_tensors.size(); ++i)
          if (source_tensors[i].info.name == tensor.name)
            found = static_cast<int>(i);
      if (found < 0) {
        found = static_cast<int>(source_tensors.size());
        source_tensors.push_back({tensor, plan.add(m.bytes(tensor, dims.data()), 1)});
      } else if (int64_t &bound = source_tensors[found].info.bound; tensor.bound > 0) {
        bound = bound > 0 ? std::min(bound, tensor.bound) : tensor.bound;
      }
      call.arguments.push_back(found);
    }
}

// A twin's tensors take no more than those of the same names.
void search_layout::add_packed(const entry_info &entry, source_call &call) const {
  call.entry = &entry;
  for (const auto *tensors : {&entry.inputs, &entry.outputs})
    for (const tensor_info &tensor : *tensors) {
      int argument = tensor.name == "xf.slots" ? kSlotsArgument : kPackArgument;
      for (size_t i = 0; i < source_tensors.size(); ++i)
        if (source_tensors[i].info.name == tensor.name)
          argument = static_cast<int>(i);
      call.arguments.push_back(argument);
    }
}

// Its tensors are `encode`'s, of one sentence.
void search_layout::add_align(const model &m, arena_plan &plan) {
  const xf_abi_generate &g = m.header().generate;
  align.entry = &m.entries()[g.align];
  for (const tensor_info &tensor : align.entry->inputs) {
    least_aligned = std::max({least_aligned, tensor.least_of(g.batch_dim), tensor.least_of(g.target_dim)});
    least_aligned_source = std::max(least_aligned_source, tensor.least_of(g.source_dim));
    int argument = kAlignedArgument;
    for (size_t i = 0; i < source_tensors.size(); ++i)
      if (source_tensors[i].info.name == tensor.name && tensor.name != step->inputs[g.tokens_input].name)
        argument = static_cast<int>(i);
    align.arguments.push_back(argument);
    for (size_t axis = 1; axis < tensor.dim.size(); ++axis)
      aligned_apart &= argument == kAlignedArgument || tensor.dimension(axis) != g.batch_dim;
  }
  align.arguments.push_back(kWeightsArgument);
  aligned = plan.add(g.target, sizeof(int32_t));
  weights = plan.add(g.target * g.source, sizeof(float));
}

void search_layout::find_source_inputs(const model &m) {
  const xf_abi_generate &g = m.header().generate;
  int first = g.sequence_first ? g.source_dim : g.batch_dim;
  int second = g.sequence_first ? g.batch_dim : g.source_dim;
  for (const source_call *call : {&encode, &begin}) {
    if (!call->entry)
      continue;
    source.name = source.name.empty() ? call->entry->name : source.name;
    for (size_t i = 0; i < call->entry->inputs.size(); ++i) {
      const tensor_info &tensor = call->entry->inputs[i];
      least_batch = std::max(least_batch, tensor.least_of(g.batch_dim));
      least_source = std::max(least_source, tensor.least_of(g.source_dim));
      bool produced = call == &begin && encode.entry && encode.entry->find_output(tensor.name) >= 0;
      if (call->arguments[i] < 0 || produced || source.find_input(tensor.name) >= 0)
        continue;
      source.inputs.push_back(source_tensors[call->arguments[i]].info);
      source_inputs.push_back(call->arguments[i]);
      bool tokens = tensor.dtype == XF_ABI_I32 && tensor.dim.size() == 2 && tensor.dimension(0) == first &&
                    tensor.dimension(1) == second;
      if (tokens && source_tokens < 0)
        source_tokens = call->arguments[i];
      else
        other_input = tensor.name;
    }
  }
}

} // namespace xf::rt
