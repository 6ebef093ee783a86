#include "runtime/core/step_layout.h"

#include <algorithm>

namespace xf::rt {

step_layout::step_layout(const model &m, arena_plan &plan) {
  const xf_abi_generate &g = m.header().generate;
  rows = g.batch * g.beam;
  chunk = std::min<int64_t>({m.dims()[g.new_dim].max, kPromptTokens, g.target});
  plain = &m.entries()[g.step];
  logits_output = g.logits_output;
  vocabulary = plain->outputs[g.logits_output].dim[2];
  chooses = g.choose >= 0;
  entry = chooses ? &m.entries()[g.choose] : plain;
  tokens = g.tokens_input;
  past = entry->find_input("xf.past");

  std::vector<int64_t> dims;
  for (const dim_info &dim : m.dims())
    dims.push_back(dim.max);
  auto bytes = [&](const tensor_info &tensor, int64_t own_rows, int64_t positions) {
    dims[g.batch_dim] = own_rows;
    dims[g.new_dim] = std::min(chunk, positions);
    return m.bytes(tensor, dims.data());
  };
  for (const auto *list : {&entry->inputs, &entry->outputs})
    for (const tensor_info &tensor : *list)
      tensors.push_back(plan.add(std::max(bytes(tensor, rows, kPromptChunk), bytes(tensor, 1, kPromptTokens)), 1));
  if (chooses) {
    find_choice();
    forbidden = tensors[choice.forbidden];
    logits = plan.add(rows * vocabulary, sizeof(float));
  } else {
    words = 4 * ((vocabulary + 127) / 128); // as those of a step that chooses
    forbidden = plan.add((1 + 2 * g.batch) * words, sizeof(uint32_t));
    logits = tensors[entry->inputs.size() + g.logits_output];
  }
}

void step_layout::find_choice() {
  choice = {entry->find_input("xf.forbidden"), entry->find_input("xf.classes"), entry->find_input("xf.options"),
            entry->find_output("xf.values"),   entry->find_output("xf.tokens"), entry->find_output("xf.norms")};
  classes_dim = entry->inputs[choice.forbidden].dimension(0);
  words = entry->inputs[choice.forbidden].dim[1];
  max_candidates = entry->outputs[choice.values].dim[1];
}

} // namespace xf::rt
