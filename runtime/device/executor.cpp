#include "runtime/device/executor.h"

#include "runtime/core/arena.h"
#include "runtime/core/cpu.h"
#include "runtime/core/error.h"
#include "runtime/core/row_moves.h"

#include <algorithm>
#include <cstring>

namespace xf::rt {

namespace {

// Calls with more bytes of arguments are copied tensor by tensor, from and to the caller's memory.
constexpr uint64_t kMaxStagedBytes = 1 << 20;

// Sessions that begin together wait for the first one's.
std::shared_ptr<device::program> load_program(const model &m, device &d) {
  auto load = [&] {
    uint64_t bytes = m.header().weights.size;
    auto program = d.load(m.text(m.header().gpu.ptx), m.gpu().functions, bytes);
    d.upload(program->weights(), m.weights(), bytes);
    d.wait(d.mark());
    return program;
  };
  if (!d.shares_programs())
    return load();
  shared_program &shared = m.on_gpu();
  std::lock_guard locked(shared.lock);
  auto program = std::static_pointer_cast<device::program>(shared.loaded.lock());
  if (!program)
    shared.loaded = program = load();
  return program;
}

} // namespace

xf_abi_view make_view(const void *data, std::initializer_list<int64_t> sizes, std::initializer_list<int64_t> strides) {
  xf_abi_view view{};
  view.data = const_cast<void *>(data);
  std::copy(sizes.begin(), sizes.end(), view.size);
  std::copy(strides.begin(), strides.end(), view.stride);
  return view;
}

device_executor::device_executor(std::shared_ptr<const model> m, std::unique_ptr<device> d)
    : model_(std::move(m)), device_(std::move(d)), states_(*model_) {
  const xf_abi_image &header = model_->header();
  std::shared_ptr<device::program> program = load_program(*model_, *device_);
  weights_ = program->weights();
  device_->use(std::move(program));
  state_memory_ = {*device_, states_.bytes};
  write_views(states_, state_memory_.get(), state_views_);
  workspace_ = {*device_, header.workspace_bytes};
  // Masked keys behind a sentence's last position are read before they are written, and must be finite, as on the CPU.
  device_->clear(state_memory_.get(), states_.bytes);
  device_->wait(device_->mark());
  kernels_.assign(model_->gpu().kernels.size(), reinterpret_cast<const void *>(static_cast<xf_abi_kernel_fn>(&launch)));
  begins_pair_.resize(kernels_.size());
  for (const gpu_pair &pair : model_->gpu().pairs)
    begins_pair_[pair.row] = true;
  size_t tensors = 0;
  for (const entry_info &entry : model_->entries())
    tensors = std::max(tensors, entry.inputs.size() + entry.outputs.size());
  io_.resize(tensors + 1);
}

// What stands for every kernel in the plans' table. Plans know nothing of exceptions.
void device_executor::launch(const xf_abi_context *context, const xf_abi_view *views, int64_t index) {
  auto &self = *static_cast<device_executor *>(context->runtime);
  if (self.problem_)
    return;
  try {
    self.launch_called(static_cast<size_t>(index), views);
  } catch (...) {
    self.problem_ = std::current_exception();
  }
}

void device_executor::launch_called(size_t index, const xf_abi_view *views) {
  const gpu_table &table = model_->gpu();
  const gpu_kernel &kernel = table.kernels[index];
  if (!held_.empty()) {
    if (const gpu_pair *pair = find_pair(table, held_kernel_, held_.data(), index, views)) {
      both_.assign(views, views + kernel.views);
      both_.insert(both_.end(), held_.begin(), held_.end());
      held_.clear();
      launch(pair->launch, both_);
      return;
    }
    launch_held();
  }
  if (begins_pair_[index]) {
    held_kernel_ = index;
    held_.assign(views, views + kernel.views);
  } else {
    launch(kernel, views);
  }
}

void device_executor::launch_held() {
  if (held_.empty())
    return;
  launch(model_->gpu().kernels[held_kernel_], held_.data());
  held_.clear();
}

void device_executor::launch(const gpu_kernel &kernel, const xf_abi_view *views) {
  for (const gpu_stage &stage : kernel.stages)
    launch(choose_launch(stage, views), {views, kernel.views});
}

void device_executor::launch(const gpu_launch &chosen, std::span<const xf_abi_view> views) {
  if (uint32_t blocks = blocks_of(chosen.config, views.data()))
    device_->launch(chosen.function, blocks, chosen.config.threads, views.data(), views.size_bytes());
}

device_executor::call_layout device_executor::lay_out(const entry_info &entry, const int64_t *dims) const {
  call_layout layout;
  layout.entry = &entry;
  arena_plan plan;
  auto add = [&](const tensor_info &tensor) {
    bool is_forwarded = forwarded(layout.offsets.size()) != nullptr;
    layout.bytes.push_back(is_forwarded ? 0 : model_->bytes(tensor, dims));
    layout.offsets.push_back(plan.add(layout.bytes.back(), 1, device::kAlignment));
  };
  for (const tensor_info &tensor : entry.inputs)
    add(tensor);
  layout.outputs = plan.add(0, 1, device::kAlignment);
  for (const tensor_info &tensor : entry.outputs)
    add(tensor);
  layout.end = plan.bytes();
  return layout;
}

// Memory for arguments grows with the largest call, that for copies with the largest that is copied as one. Inputs that lie elsewhere
// now are not known to be on the device any more, and none is where memory cannot be had.
void device_executor::reserve(call_layout layout) {
  if (layout == layout_)
    return;
  layout_ = {};
  valid_.clear();
  io_memory_.grow(*device_, layout.end);
  if (layout.end <= kMaxStagedBytes) {
    staging_.grow(*device_, layout.end);
    resident_.resize(std::max<size_t>(resident_.size(), layout.outputs));
  }
  valid_.resize(layout.entry->inputs.size());
  layout_ = std::move(layout);
}

void device_executor::upload(const entry_info &entry, const int64_t *dims, void *const *io) {
  forwarded_.clear();
  send(entry, dims, io);
}

void device_executor::send(const entry_info &entry, const int64_t *dims, void *const *io) {
  reserve(lay_out(entry, dims));
  size_t inputs = entry.inputs.size();
  if (!staged()) {
    for (size_t i = 0; i < inputs; ++i)
      if (layout_.bytes[i])
        device_->upload(tensor(i), io[i], layout_.bytes[i]);
    valid_.assign(inputs, false);
    return;
  }
  // Neighbours that have changed go together.
  uint64_t begin = 0, end = 0;
  auto flush = [&] {
    if (end > begin)
      device_->upload(io_memory_.get() + begin, staging_.get() + begin, end - begin);
    begin = end = 0;
  };
  for (size_t i = 0; i < inputs; ++i) {
    uint64_t at = layout_.offsets[i], bytes = layout_.bytes[i];
    if (!bytes || (valid_[i] && std::memcmp(resident_.data() + at, io[i], bytes) == 0)) {
      flush();
      continue;
    }
    std::memcpy(resident_.data() + at, io[i], bytes);
    std::memcpy(staging_.get() + at, io[i], bytes);
    valid_[i] = true;
    if (end == begin)
      begin = at;
    end = at + bytes;
  }
  flush();
}

void device_executor::run(const entry_info &entry, const int64_t *dims) {
  if (!(lay_out(entry, dims) == layout_))
    fail(status::internal, "the arguments of '%s' are not those that have been copied", entry.name.c_str());
  for (size_t i = 0; i < layout_.offsets.size(); ++i)
    io_[i] = tensor(i);
  xf_abi_context context{};
  context.dims = dims;
  context.io = io_.data();
  context.weights = weights_;
  context.states = state_views_.data();
  context.capacities = states_.room.capacities.data();
  context.workspace = workspace_.get();
  context.kernels = kernels_.data();
  context.runtime = this;
  context.threads = 1;
  problem_ = nullptr;
  held_.clear();
  fp_scope control_word;
  reinterpret_cast<xf_abi_entry_fn>(reinterpret_cast<uintptr_t>(model_->code() + entry.code_offset))(&context);
  if (problem_)
    std::rethrow_exception(problem_);
  launch_held();
}

void device_executor::download_outputs(void *const *io) {
  if (staged()) {
    if (layout_.end > layout_.outputs)
      device_->download(staging_.get() + layout_.outputs, io_memory_.get() + layout_.outputs, layout_.end - layout_.outputs);
    return;
  }
  for (size_t i = layout_.entry->inputs.size(); i < layout_.offsets.size(); ++i)
    if (layout_.bytes[i])
      device_->download(io[i], tensor(i), layout_.bytes[i]);
}

void device_executor::take_outputs(void *const *io) const {
  size_t inputs = layout_.entry->inputs.size();
  if (staged())
    for (size_t i = inputs; i < layout_.offsets.size(); ++i)
      std::memcpy(io[i], staging_.get() + layout_.offsets[i], layout_.bytes[i]);
}

// A device with which this goes wrong, too, does nothing more.
void device_executor::drain() noexcept {
  try {
    device_->wait(device_->mark());
  } catch (...) {
  }
}

void device_executor::set_forwarded(const entry_info &entry, const int64_t *dims, void *const *io, std::span<void *const> next) {
  size_t inputs = entry.inputs.size();
  forwarded_.assign(inputs + entry.outputs.size(), nullptr);
  bool takes = false;
  for (size_t i = 0; i < inputs; ++i)
    for (const forwarded_output &output : forwarded_outputs_)
      if (output.host && output.host == io[i]) {
        forwarded_[i] = output.memory.get();
        takes = true;
      }
  for (forwarded_output &output : forwarded_outputs_)
    output.host = nullptr;
  if (takes) // what the call reads must not be where it writes
    return;
  size_t count = 0;
  for (size_t i = inputs; i < forwarded_.size(); ++i) {
    if (std::find(next.begin(), next.end(), io[i]) == next.end())
      continue;
    if (count == forwarded_outputs_.size())
      forwarded_outputs_.emplace_back();
    forwarded_output &output = forwarded_outputs_[count++];
    output.memory.grow(*device_, model_->bytes(entry.outputs[i - inputs], dims));
    output.host = io[i];
    forwarded_[i] = output.memory.get();
  }
}

void device_executor::call(const entry_info &entry, const int64_t *dims, void *const *io, std::span<void *const> next) {
  submit([&] {
    set_forwarded(entry, dims, io, next);
    send(entry, dims, io);
    run(entry, dims);
    download_outputs(io);
    device_->wait(device_->mark());
  });
  take_outputs(io);
}

void device_executor::move_rows(std::span<const row_move> moves) {
  if (moves.empty())
    return;
  uint64_t bytes = moves.size() * 3 * sizeof(int32_t);
  submit([&] {
    device_->wait(moves_mark_); // the moves before have been read
    moves_.grow(*device_, bytes);
    staged_moves_.grow(*device_, bytes);
    auto *words = reinterpret_cast<int32_t *>(staged_moves_.get());
    for (const row_move &move : moves)
      for (int64_t word : {int64_t{move.from}, int64_t{move.to}, move.positions})
        *words++ = static_cast<int32_t>(word);
    device_->upload(moves_.get(), staged_moves_.get(), bytes);
    moves_mark_ = device_->mark();
    move_rows(moves_.get(), static_cast<int64_t>(moves.size()));
  });
}

void device_executor::move_rows(uint8_t *moves, int64_t count) {
  for (const state_region &state : states_.regions) {
    if (state.per_sentence)
      continue;
    auto size = [](uint64_t n) { return static_cast<int64_t>(n); };
    const xf_abi_view views[] = {make_view(state_memory_.get() + state.offset,
                                           {size(state.layers), size(state.outer), size(state.unit_positions), size(state.unit_bytes)},
                                           {size(state.layer_stride), size(state.outer_stride), size(state.row_stride)}),
                                 make_view(moves, {count, 3}, {3, 1})};
    launch(model_->gpu().move_rows, views);
  }
}

} // namespace xf::rt
