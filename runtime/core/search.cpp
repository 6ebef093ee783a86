// Which sentences are searched when. What is refused is in search_check.cpp, how they enter in search_source.cpp, the steps
// themselves are in search_step.cpp.
#include "runtime/core/search.h"

#include "runtime/core/cpu.h"
#include "runtime/core/error.h"
#include "runtime/core/session.h"

#include <algorithm>

namespace xf::rt {

searcher::searcher(session &owner, const model &m, arena_plan &plan)
    : session_(owner), model_(m), g_(m.header().generate), layout_(m, plan), rows_(layout_.placement), window_(layout_.window),
      encode_calls_(owner, layout_.pack), start_calls_(owner, layout_.pack), own_scratch_(m), room_(largest_room(m)),
      scratch_at_(plan.add(static_cast<uint64_t>(owner.threads()), own_scratch_.bytes)) {}

void searcher::bind(const arena &memory) {
  reduce_ = row_reducer_for(session_.isa());
  sample_ = row_sampler_for(session_.isa());
  memory_ = memory.at(0);
  slots_argument_ = memory.as<int32_t>(layout_.slots);
  prefix_ = memory.as<int32_t>(layout_.prefix);
  candidates_ = memory.as<candidate>(layout_.candidates);
  summaries_ = memory.as<row_summary>(layout_.summaries);
  tokens_ = memory.as<int32_t>(layout_.tokens);
  started_ = memory.as<int32_t>(layout_.started);
  aligned_ = memory.as<int32_t>(layout_.aligned);
  weights_ = memory.as<float>(layout_.weights);
  logits_ = memory.as<float>(layout_.logits);
  scratch_ = memory.at(scratch_at_);
  layout_.groups.bind(memory);
  layout_.pack.bind(memory);
  rows_.bind(memory);
  window_.bind(memory);
  classes_.bind(memory.as<uint32_t>(layout_.forbidden), layout_.words, layout_.batch);
  for (beam_search &search : layout_.beams)
    search.bind(memory);

  const entry_info &step = *layout_.step;
  for (uint64_t offset : layout_.step_tensors)
    step_io_.push_back(memory.at(offset));
  step_tokens_ = static_cast<int32_t *>(step_io_[layout_.step_tokens]);
  step_past_ = static_cast<int32_t *>(step_io_[layout_.step_past]);
  if (int at = step.find_input("xf.slots"); at >= 0)
    step_slots_ = static_cast<int32_t *>(step_io_[at]);
  if (layout_.chooses) {
    auto input = [&](int place) { return step_io_[place]; };
    auto output = [&](int place) { return step_io_[step.inputs.size() + place]; };
    const choice_places &at = layout_.choice;
    choice_ = {static_cast<int32_t *>(input(at.classes)), static_cast<int32_t *>(input(at.options)),
               static_cast<const float *>(output(at.values)), static_cast<const int32_t *>(output(at.tokens)),
               static_cast<const float *>(output(at.norms))};
    logits_io_.assign(step_io_.begin(), step_io_.begin() + static_cast<std::ptrdiff_t>(layout_.plain->inputs.size()));
    logits_io_.push_back(logits_);
  } else {
    logits_io_ = step_io_;
  }
  for (const source_tensor &tensor : layout_.source_tensors)
    source_pointers_.push_back(memory.at(tensor.offset));
  for (const source_call *call : {&layout_.encode, &layout_.begin})
    source_io_.reserve(call->arguments.size());
  auto twin = [](const source_call &call, const source_call &packed) -> const source_call & { return packed.entry ? packed : call; };
  for (const source_call *call : {&twin(layout_.encode, layout_.packed_encode), &twin(layout_.begin, layout_.packed_begin)})
    if (call->entry)
      start_calls_.add(*call->entry, source_arguments(*call));
  if (const source_call &call = twin(layout_.encode, layout_.packed_encode); call.entry)
    encode_calls_.add(*call.entry, source_arguments(call));
  given_inputs_.resize(layout_.source.inputs.size() + 1);
  given_pointers_.resize(layout_.source_tensors.size());
  source_dims_.resize(model_.dims().size());
  step_dims_.resize(model_.dims().size());
  align_dims_.resize(model_.dims().size());
  align_io_.resize(layout_.align.arguments.size());
  slots_.resize(layout_.batch);
  slot_beams_.resize(layout_.batch);
  beam_summaries_.resize(layout_.beam);
  beam_candidates_.resize(layout_.beam);
  coverage_.resize(static_cast<size_t>(2 * layout_.beam));
  if (device_executor *device = session_.executor(); device && layout_.chooses)
    ahead_ = std::make_unique<device_search>(*device, layout_);
}

void searcher::start_call(const search_options &options, search_sink &sink) {
  check(options);
  options_ = &options;
  sink_ = &sink;
  classes_.start(options.suppress, options.allowed, ends());
  rows_.forget();
  // The last search may have stopped in the middle.
  rows_.clear();
  window_.clear();
  active_ = 0;
  for (slot &s : slots_)
    s.sentence = -1;
}

// More rows than these are no faster on a CPU, and their states are memory that is touched for nothing.
int32_t searcher::default_batch() const {
  constexpr int64_t kRowsPerThread = 128;
  if (session_.executor())
    return static_cast<int32_t>(layout_.batch);
  int64_t rows = kRowsPerThread * session_.pool().size();
  return static_cast<int32_t>(std::clamp<int64_t>(rows / options_->beam, 1, layout_.batch));
}

void searcher::generate(const token_rows &rows, const search_options &options, search_sink &sink) {
  if (std::string problem = layout_.refuses_tokens(); !problem.empty())
    fail(status::unsupported, "%s", problem.c_str());
  fp_scope control_word;
  start_call(options, sink);
  batch_ = options.batch ? options.batch : default_batch();
  make_room(rows);
  auto accepts = accepting([&](int64_t sentence) { return refuse(rows, sentence); }, sink);
  for (int64_t next = 0; next < rows.count;) {
    next = window_.start(rows, next, accepts);
    run_to_the_end();
  }
}

void searcher::run_to_the_end() {
  while (true) {
    start_waiting();
    if (active_ == 0)
      return;
    step();
  }
}

} // namespace xf::rt
