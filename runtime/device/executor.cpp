#include "runtime/device/executor.h"

#include "runtime/core/cpu.h"
#include "runtime/core/error.h"

#include <algorithm>

namespace xf::rt {

namespace {

constexpr uint64_t kAlignment = 256;
uint64_t aligned(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

} // namespace

device_executor::device_executor(std::shared_ptr<const model> m, std::unique_ptr<device> d)
    : model_(std::move(m)), device_(std::move(d)) {
  const xf_abi_image &header = model_->header();
  device_->load(model_->text(header.gpu.ptx), model_->gpu().functions);
  weights_ = device_->allocate(std::max<uint64_t>(header.weights.size, 1));
  state_ = device_->allocate(std::max<uint64_t>(header.state_bytes, 1));
  workspace_ = device_->allocate(std::max<uint64_t>(header.workspace_bytes, 1));
  // Masked keys behind a sentence's last position are read before they are written: as on the CPU they are finite.
  device_->clear(state_, header.state_bytes);
  device_->upload(weights_, model_->weights(), header.weights.size);
  kernels_.assign(model_->gpu().kernels.size(), reinterpret_cast<const void *>(&launch));
  size_t tensors = 0;
  for (const entry_info &entry : model_->entries())
    tensors = std::max(tensors, entry.inputs.size() + entry.outputs.size());
  io_.resize(tensors + 1);
}

device_executor::~device_executor() {
  for (uint8_t *memory : {weights_, state_, workspace_, io_memory_})
    if (memory)
      device_->release(memory);
}

// Memory for arguments grows with the largest call.
void device_executor::reserve_io(uint64_t bytes) {
  if (bytes <= io_bytes_)
    return;
  if (io_memory_)
    device_->release(io_memory_);
  io_memory_ = nullptr;
  io_bytes_ = 0;
  io_memory_ = device_->allocate(bytes);
  io_bytes_ = bytes;
}

// What stands for every kernel in the plans' table. Plans know nothing of exceptions.
void device_executor::launch(const xf_abi_context *context, const xf_abi_view *views, int64_t number) {
  auto &self = *static_cast<device_executor *>(context->runtime);
  if (self.problem_)
    return;
  try {
    const gpu_kernel &kernel = self.model_->gpu().kernels[number];
    for (const gpu_stage &stage : kernel.stages) {
      const gpu_launch &chosen = choose_launch(stage, views);
      uint64_t blocks = blocks_of(chosen.how, views);
      if (blocks > 0x7fffffff)
        fail(status::limit, "a kernel would take %llu blocks", static_cast<unsigned long long>(blocks));
      if (blocks > 0)
        self.device_->launch(chosen.function, static_cast<uint32_t>(blocks), chosen.how.threads, views,
                             kernel.views * sizeof(xf_abi_view));
    }
  } catch (...) {
    self.problem_ = std::current_exception();
  }
}

void device_executor::call(const entry_info &entry, const int64_t *dims, void *const *io) {
  size_t inputs = entry.inputs.size(), count = inputs + entry.outputs.size();
  auto bytes_of = [&](size_t i) {
    return model_->bytes(i < inputs ? entry.inputs[i] : entry.outputs[i - inputs], dims);
  };
  uint64_t total = 0;
  for (size_t i = 0; i < count; ++i)
    total += aligned(bytes_of(i));
  reserve_io(std::max<uint64_t>(total, 1));
  uint64_t offset = 0;
  for (size_t i = 0; i < count; ++i) {
    io_[i] = io_memory_ + offset;
    offset += aligned(bytes_of(i));
    if (i < inputs && bytes_of(i))
      device_->upload(static_cast<uint8_t *>(io_[i]), io[i], bytes_of(i));
  }

  xf_abi_context context{};
  context.dims = dims;
  context.io = io_.data();
  context.weights = weights_;
  context.state = state_;
  context.workspace = workspace_;
  context.kernels = kernels_.data();
  context.runtime = this;
  context.threads = 1;
  problem_ = nullptr;
  fp_scope control_word;
  reinterpret_cast<xf_abi_entry_fn>(reinterpret_cast<uintptr_t>(model_->code() + entry.code_offset))(&context);
  if (problem_)
    std::rethrow_exception(problem_);
  for (size_t i = inputs; i < count; ++i)
    if (bytes_of(i))
      device_->download(io[i], static_cast<const uint8_t *>(io_[i]), bytes_of(i));
}

void device_executor::copy_row(int32_t from, int32_t to, int64_t positions) {
  for (const xf_abi_state &state : model_->states()) {
    if (state.per_sentence)
      continue;
    auto used = static_cast<uint64_t>(positions);
    uint64_t units = state.unit_positions ? (used + state.unit_positions - 1) / state.unit_positions : 1;
    if (units == 0)
      continue;
    for (uint64_t layer = 0; layer < state.layers; ++layer) {
      uint8_t *base = state_ + state.offset + layer * state.layer_stride;
      device_->copy({base + static_cast<uint64_t>(to) * state.row_stride, base + static_cast<uint64_t>(from) * state.row_stride,
                     units * state.unit_bytes, state.outer_stride, state.outer});
    }
  }
}

} // namespace xf::rt
