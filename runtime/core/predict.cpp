#include "runtime/core/predict.h"

#include "runtime/core/error.h"
#include "runtime/core/session.h"

#include <algorithm>

namespace xf::rt {

int64_t first_text(const xf_abi_text &text, std::span<const int32_t> ids) {
  std::span<const int32_t> between(text.between, text.between_count);
  auto found = std::search(ids.begin(), ids.end(), between.begin(), between.end());
  bool is_pair = !between.empty() && found != ids.end();
  return is_pair ? found - ids.begin() + static_cast<int64_t>(between.size()) : static_cast<int64_t>(ids.size());
}

predict_layout::predict_layout(const model &m, arena_plan &plan)
    : window(plan, m.header().generate.batch), groups(plan, m.header().generate.batch), pack(m, m.header().predict.packed, plan) {
  const xf_abi_generate &limits = m.header().generate;
  const xf_abi_predict &roles = m.header().predict;
  entry = &m.entries()[roles.entry];
  tokens = roles.types == 0 ? 1 : 0;
  batch = limits.batch;
  check_shapes(limits, entry->outputs[roles.output], roles.types >= 0);
  if (problem)
    return;
  std::vector<int64_t> dims;
  for (const dim_info &dim : m.dims())
    dims.push_back(dim.max);
  dims[limits.batch_dim] = limits.batch;
  dims[limits.source_dim] = limits.source;
  for (const auto *list : {&entry->inputs, &entry->outputs})
    for (const tensor_info &tensor : *list)
      tensors.push_back(plan.add(m.bytes(tensor, dims.data()), 1));
}

void predict_layout::check_shapes(const xf_abi_generate &limits, const tensor_info &output, bool has_types) {
  int first = limits.sequence_first ? limits.source_dim : limits.batch_dim;
  int second = limits.sequence_first ? limits.batch_dim : limits.source_dim;
  auto is_of_tokens = [&](const tensor_info &input) {
    return input.dtype == XF_ABI_I32 && input.dim.size() == 2 && input.dimension(0) == first && input.dimension(1) == second;
  };
  if (entry->inputs.size() != (has_types ? 2 : 1) || !std::all_of(entry->inputs.begin(), entry->inputs.end(), is_of_tokens)) {
    problem = "the prediction's entry takes other inputs than the tokens of a batch";
    return;
  }
  if (std::any_of(entry->inputs.begin(), entry->inputs.end(), [&](const tensor_info &i) { return i.min_size_of(limits.batch_dim) > 1; })) {
    problem = "the prediction's entry needs several sentences at once";
    return;
  }
  by_token = output.dim.size() == 3 && output.dimension(0) == first && output.dimension(1) == second;
  bool by_sentence = output.dim.size() == 2 && output.dimension(0) == limits.batch_dim;
  if ((!by_token && !by_sentence) || output.dim.back() < 1)
    problem = "the prediction has neither a row for each token nor one for each sentence";
  width = output.dim.empty() ? 0 : output.dim.back();
}

predictor::predictor(session &owner, const model &m, arena_plan &plan)
    : model_(m), limits_(m.header().generate), roles_(m.header().predict), layout_(m, plan), calls_(owner, layout_.pack) {}

void predictor::bind(const arena &memory) {
  if (layout_.problem)
    return;
  layout_.window.bind(memory);
  layout_.groups.bind(memory);
  for (uint64_t offset : layout_.tensors)
    io_.push_back(memory.at(offset));
  layout_.pack.bind(memory);
  // The twin's own inputs stand behind those of the entry.
  std::vector<void *> io = io_;
  const entry_info *twin = layout_.pack.entry();
  for (size_t i = layout_.entry->inputs.size(); twin && i < twin->inputs.size(); ++i)
    io.insert(io.begin() + static_cast<ptrdiff_t>(i), layout_.pack.argument(twin->inputs[i].name));
  calls_.add(twin ? *twin : *layout_.entry, std::move(io));
  dims_.resize(model_.dims().size());
}

// Why the sentence has no answer, or null.
const char *predictor::refuse(std::span<const int32_t> ids) {
  const tensor_info &tokens = layout_.entry->inputs[layout_.tokens];
  auto length = static_cast<int64_t>(ids.size());
  if (ids.empty())
    return refusal::no_tokens;
  if (roles_.pad >= 0 && std::all_of(ids.begin(), ids.end(), [&](int32_t id) { return id == roles_.pad; }))
    return refusal::only_padding;
  if (int64_t min_tokens = tokens.min_size_of(limits_.source_dim); length < min_tokens)
    return refusal_.too_few_tokens(length, min_tokens);
  if (length > limits_.source)
    return refusal_.too_long("it", length, limits_.source);
  return refusal_.unknown_token(ids, tokens.bound);
}

void predictor::check(int32_t batch) const {
  if (layout_.problem)
    fail(status::unsupported, "%s", layout_.problem);
  if (batch < 0 || batch > layout_.batch)
    fail(batch < 0 ? status::invalid_argument : status::limit, "the batch must be between 1 and %lld, not %d", static_cast<long long>(layout_.batch),
         batch);
}

void predictor::predict(const token_rows &rows, int32_t batch, predict_sink &sink) {
  check(batch);
  int64_t max_batch = batch ? batch : layout_.batch;
  auto accepts = accepting([&](int64_t sentence) { return refuse(rows.row(sentence)); }, sink);
  layout_.window.for_batches(rows, max_batch, accepts, [&](int64_t count) {
    for (int64_t i = 0; i < count; ++i)
      layout_.groups.lengths()[i] = layout_.window.length(i);
    predict_groups(calls_.split(layout_.groups, count, roles_.pad >= 0), sink);
  });
}

void predictor::predict_groups(const sentence_groups &groups, predict_sink &sink) {
  using group = group_calls::group;
  const sentence_pack &pack = layout_.pack;
  auto sentence = [&](const group &g, int64_t b) { return layout_.window.sentence(groups.sentences[g.begin + b]); };
  auto lay_out = [&](const group &g, int64_t *dims) {
    auto ids = [&](int64_t b) { return layout_.window.rows()->row(sentence(g, b)); };
    const int32_t *lengths = &groups.lengths[g.begin];
    auto padded = [&](size_t input) { return static_cast<int32_t *>(io_[input]) + g.offset.sentences * g.offset.longest; };
    pack.lay_out(g.offset, g.end - g.begin, lengths, roles_.pad, padded(layout_.tokens), dims, ids);
    if (roles_.types >= 0)
      pack.lay_out_types(g.offset, g.end - g.begin, lengths, padded(static_cast<size_t>(roles_.types)),
                         [&](int64_t b) { return first_text(model_.header().text, ids(b)); });
  };
  auto *values = static_cast<const float *>(io_[layout_.entry->inputs.size() + roles_.output]);
  int64_t width = layout_.width;
  calls_.run(groups, dims_.data(), lay_out, [&](const group &g) {
    int64_t count = g.end - g.begin, longest = groups.lengths[g.begin];
    for (int64_t b = 0; b < count; ++b) {
      if (layout_.by_token)
        sink.predicted(sentence(g, b), values + pack.first_row(g.offset, b, longest) * width, groups.lengths[g.begin + b],
                       pack.row_step(count) * width, width);
      else
        sink.predicted(sentence(g, b), values + (g.offset.sentences + b) * width, 1, width, width);
    }
  });
}

} // namespace xf::rt
