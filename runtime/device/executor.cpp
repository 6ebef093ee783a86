#include "runtime/device/executor.h"

#include "runtime/core/cpu.h"
#include "runtime/core/error.h"
#include "runtime/core/search_layout.h"

#include <algorithm>
#include <cstring>

namespace xf::rt {

namespace {

constexpr uint64_t kAlignment = 256;
uint64_t aligned(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// Calls with more bytes of arguments are copied tensor by tensor, from and to the caller's memory.
constexpr uint64_t kMostStaged = 1 << 20;

xf_abi_view make_view(const void *data, std::initializer_list<int64_t> sizes, std::initializer_list<int64_t> strides) {
  xf_abi_view view{};
  view.data = const_cast<void *>(data);
  std::copy(sizes.begin(), sizes.end(), view.size);
  std::copy(strides.begin(), strides.end(), view.stride);
  return view;
}

} // namespace

device_executor::device_executor(std::shared_ptr<const model> m, std::unique_ptr<device> d)
    : model_(std::move(m)), device_(std::move(d)) {
  const xf_abi_image &header = model_->header();
  device_->load(model_->text(header.gpu.ptx), model_->gpu().functions);
  weights_ = {*device_, header.weights.size};
  state_ = {*device_, header.state_bytes};
  workspace_ = {*device_, header.workspace_bytes};
  // Masked keys behind a sentence's last position are read before they are written: as on the CPU they are finite.
  device_->clear(state_.get(), header.state_bytes);
  device_->upload(weights_.get(), model_->weights(), header.weights.size);
  device_->wait(device_->mark());
  kernels_.assign(model_->gpu().kernels.size(), reinterpret_cast<const void *>(static_cast<xf_abi_kernel_fn>(&launch)));
  size_t tensors = 0;
  for (const entry_info &entry : model_->entries())
    tensors = std::max(tensors, entry.inputs.size() + entry.outputs.size());
  io_.resize(tensors + 1);
}

// What stands for every kernel in the plans' table. Plans know nothing of exceptions.
void device_executor::launch(const xf_abi_context *context, const xf_abi_view *views, int64_t number) {
  auto &self = *static_cast<device_executor *>(context->runtime);
  if (self.problem_)
    return;
  try {
    self.launch(self.model_->gpu().kernels[number], views);
  } catch (...) {
    self.problem_ = std::current_exception();
  }
}

void device_executor::launch(const gpu_kernel &kernel, const xf_abi_view *views) {
  for (const gpu_stage &stage : kernel.stages) {
    const gpu_launch &chosen = choose_launch(stage, views);
    uint64_t blocks = blocks_of(chosen.how, views);
    if (blocks > 0x7fffffff)
      fail(status::limit, "a kernel would take %llu blocks", static_cast<unsigned long long>(blocks));
    if (blocks > 0)
      device_->launch(chosen.function, static_cast<uint32_t>(blocks), chosen.how.threads, views,
                      kernel.views * sizeof(xf_abi_view));
  }
}

void device_executor::place(const entry_info &entry, const int64_t *dims, call_places &places) const {
  places.entry = &entry;
  places.begin.clear();
  places.bytes.clear();
  uint64_t offset = 0;
  auto add = [&](const tensor_info &tensor) {
    places.begin.push_back(offset);
    places.bytes.push_back(model_->bytes(tensor, dims));
    offset += aligned(places.bytes.back());
  };
  for (const tensor_info &tensor : entry.inputs)
    add(tensor);
  places.outputs = offset;
  for (const tensor_info &tensor : entry.outputs)
    add(tensor);
  places.end = offset;
}

// Memory for arguments grows with the largest call, that for copies with the largest that is copied as one.
void device_executor::reserve(const call_places &places) {
  if (places.end > io_memory_.bytes()) {
    io_memory_.grow(*device_, places.end);
    resident_places_ = {};
  }
  if (places.end > slot_bytes_ && places.end <= kMostStaged) {
    staging_.grow(*device_, kCalls * places.end);
    slot_bytes_ = places.end;
  }
}

void device_executor::upload_inputs(const call_places &to, void *const *io, const fed_input *fed) {
  size_t inputs = to.entry->inputs.size();
  if (!staged(to)) {
    for (size_t i = 0; i < inputs; ++i)
      if (to.bytes[i])
        device_->upload(io_memory_.get() + to.begin[i], io[i], to.bytes[i]);
    resident_places_ = {};
    return;
  }
  bool same_places = to == resident_places_;
  resident_.resize(std::max<size_t>(resident_.size(), to.outputs));
  uint8_t *from = slot(started_);
  // Neighbours that have changed go together.
  uint64_t begin = 0, end = 0;
  auto flush = [&] {
    if (end > begin)
      device_->upload(io_memory_.get() + begin, from + begin, end - begin);
    begin = end = 0;
  };
  for (size_t i = 0; i < inputs; ++i) {
    uint8_t *known = resident_.data() + to.begin[i];
    bool is_fed = fed && fed->input == i;
    bool same = same_places && fed_ != static_cast<int>(i) && std::memcmp(known, io[i], to.bytes[i]) == 0;
    if (is_fed || same || !to.bytes[i]) {
      flush();
      continue;
    }
    std::memcpy(known, io[i], to.bytes[i]);
    std::memcpy(from + to.begin[i], io[i], to.bytes[i]);
    if (end == begin)
      begin = to.begin[i];
    end = to.begin[i] + to.bytes[i];
  }
  flush();
  fed_ = fed ? static_cast<int>(fed->input) : -1;
  if (!same_places)
    resident_places_ = to;
}

// The output of the call before lies where this call's will.
void device_executor::feed(const call_places &at, const fed_input &fed) {
  int64_t rows = static_cast<int64_t>(at.bytes[fed.input] / sizeof(int32_t)), width = at.entry->outputs[fed.output].dim.back();
  const xf_abi_view views[] = {
      make_view(io_memory_.get() + at.begin[at.entry->inputs.size() + fed.output], {rows, width}, {width, 1}),
      make_view(io_memory_.get() + at.begin[fed.input], {rows}, {1})};
  launch(model_->gpu().feed_tokens, views);
}

void device_executor::download_outputs(started_call &call, void *const *io) {
  const call_places &from = call.places;
  size_t inputs = from.entry->inputs.size();
  call.outputs.clear();
  if (!staged(from)) {
    for (size_t i = inputs; i < from.begin.size(); ++i)
      if (from.bytes[i])
        device_->download(io[i], io_memory_.get() + from.begin[i], from.bytes[i]);
    return;
  }
  if (from.end > from.outputs)
    device_->download(slot(started_) + from.outputs, io_memory_.get() + from.outputs, from.end - from.outputs);
  call.outputs.assign(io + inputs, io + from.begin.size());
}

void device_executor::run_plan(const entry_info &entry, const int64_t *dims) {
  xf_abi_context context{};
  context.dims = dims;
  context.io = io_.data();
  context.weights = weights_.get();
  context.state = state_.get();
  context.workspace = workspace_.get();
  context.kernels = kernels_.data();
  context.runtime = this;
  context.threads = 1;
  problem_ = nullptr;
  fp_scope control_word;
  reinterpret_cast<xf_abi_entry_fn>(reinterpret_cast<uintptr_t>(model_->code() + entry.code_offset))(&context);
  if (problem_)
    std::rethrow_exception(problem_);
}

bool device_executor::can_chain(const entry_info &entry, const int64_t *dims) const {
  call_places places;
  place(entry, dims, places);
  return places.end <= kMostStaged;
}

void device_executor::start(const entry_info &entry, const int64_t *dims, void *const *io, const fed_input *fed) {
  if (!fed && started_ != finished_) {
    finished_ = started_;
    wait(calls_[(started_ - 1) % kCalls].mark);
  }
  started_call &call = calls_[started_ % kCalls];
  place(entry, dims, call.places);
  if (fed && (started_ - finished_ == kCalls || !(call.places == resident_places_)))
    fail(status::internal, "a call of a chain differs from the one before, or there are too many");
  reserve(call.places);
  for (size_t i = 0; i < call.places.begin.size(); ++i)
    io_[i] = io_memory_.get() + call.places.begin[i];
  upload_inputs(call.places, io, fed);
  if (fed)
    feed(call.places, *fed);
  run_plan(entry, dims);
  download_outputs(call, io);
  call.mark = device_->mark();
  ++started_;
}

void device_executor::finish() {
  const started_call &call = calls_[finished_ % kCalls];
  const uint8_t *from = slot(finished_);
  ++finished_;
  wait(call.mark);
  size_t inputs = call.places.entry->inputs.size();
  for (size_t i = 0; i < call.outputs.size(); ++i)
    std::memcpy(call.outputs[i], from + call.places.begin[inputs + i], call.places.bytes[inputs + i]);
}

// What went wrong may have kept inputs from coming to the device.
void device_executor::wait(uint64_t mark) {
  try {
    device_->wait(mark);
  } catch (...) {
    resident_places_ = {};
    throw;
  }
}

void device_executor::call(const entry_info &entry, const int64_t *dims, void *const *io) {
  start(entry, dims, io);
  finish();
}

void device_executor::move_rows(std::span<const row_move> moves) {
  if (moves.empty())
    return;
  uint64_t bytes = moves.size() * 3 * sizeof(int32_t);
  wait(moves_mark_); // the moves before have been read
  moves_.grow(*device_, bytes);
  staged_moves_.grow(*device_, bytes);
  auto *words = reinterpret_cast<int32_t *>(staged_moves_.get());
  for (const row_move &move : moves)
    for (int64_t word : {int64_t{move.from}, int64_t{move.to}, move.positions})
      *words++ = static_cast<int32_t>(word);
  device_->upload(moves_.get(), staged_moves_.get(), bytes);
  moves_mark_ = device_->mark();
  for (const xf_abi_state &state : model_->states()) {
    if (state.per_sentence)
      continue;
    auto size = [](uint64_t n) { return static_cast<int64_t>(n); };
    const xf_abi_view views[] = {
        make_view(state_.get() + state.offset,
                  {size(state.layers), size(state.outer), size(state.unit_positions), size(state.unit_bytes)},
                  {size(state.layer_stride), size(state.outer_stride), size(state.row_stride)}),
        make_view(moves_.get(), {static_cast<int64_t>(moves.size()), 3}, {3, 1})};
    launch(model_->gpu().move_rows, views);
  }
}

} // namespace xf::rt
