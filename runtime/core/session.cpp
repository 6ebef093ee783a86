#include "runtime/core/session.h"

#include "runtime/core/cpu.h"
#include "runtime/core/error.h"

#include <algorithm>

namespace xf::rt {

namespace {

// Null: the CPU, which is the best also where a driver cannot take the model's code. What else goes wrong with a GPU that is there, too
// little memory among it, is an error: the CPU might be far from what was expected.
std::unique_ptr<device_executor> open_executor(const std::shared_ptr<const model> &m, device_kind kind) {
  std::unique_ptr<device> chosen = make_device(*m, kind);
  if (!chosen)
    return nullptr;
  try {
    return std::make_unique<device_executor>(m, std::move(chosen));
  } catch (const error &problem) {
    if (kind != device_kind::best || m->kernels().empty() || problem.code != status::unsupported)
      throw;
    return nullptr;
  }
}

// With another device the plans alone run here, and the runtime's own loops.
int select_isa(int requested) {
  isa_support supported = detect_isa();
  return choose_isa({requested >= 0 ? requested : supported.best}, supported, requested);
}

int select_kernels(const model &m, int requested) {
  std::vector<int> available;
  for (const kernel_table &table : m.kernels())
    available.push_back(table.isa);
  return choose_isa(available, detect_isa(), requested);
}

int thread_count(int requested) {
  if (requested < 0 || requested > 1024)
    fail(status::invalid_argument, "the number of threads must be between 1 and 1024, not %d", requested);
  return requested > 0 ? requested : available_cpus();
}

void arrive(const xf_abi_context *context) { static_cast<thread_pool *>(context->runtime)->barrier(); }

// Threads must not share cache lines of their scratch, or pages of their workspaces and states.
uint64_t whole_pages(uint64_t bytes) { return (bytes + XF_ABI_PAGE - 1) / XF_ABI_PAGE * XF_ABI_PAGE; }
uint64_t scratch_stride(const model &m) { return (m.header().scratch_bytes + 127) / 64 * 64 + 64; }
// Whether threads ever work alone.
bool threads_work_alone(const model &m) { return m.header().generate.present || m.header().predict.present; }
uint64_t workspace_stride(const model &m) { return whole_pages(m.header().workspace_bytes); }

} // namespace

memory_bound memory_of(const model &m) {
  const xf_abi_image &header = m.header();
  arena_plan search;
  if (header.generate.present)
    search_layout layout(m, search);
  if (header.predict.present)
    predict_layout layout(m, search);
  search.add(0, 1); // what follows begins at a cache line
  uint64_t scratch = scratch_stride(m) + (header.generate.present ? choice_scratch(m).bytes : 0);
  return {header.weights.size, whole_pages(state_layout(m).bytes), workspace_stride(m), scratch, search.bytes(), threads_work_alone(m)};
}

session::session(std::shared_ptr<const model> m, session_options options)
    : model_(std::move(m)), executor_(open_executor(model_, options.device)), kernels_(executor_ ? -1 : select_kernels(*model_, options.isa)),
      isa_(executor_ ? select_isa(options.isa) : model_->kernels()[kernels_].isa),
      pool_(thread_count(options.threads), available_cpus(), options.source), states_(*model_), wanted_states_(*model_),
      min_rows_per_thread_(options.min_rows_per_thread), max_rows_per_call_(options.max_rows_per_call) {
  const xf_abi_image &header = model_->header();
  bool here = !executor_;
  arena_plan plan;
  state_memory_ = plan.add(here ? states_.bytes : 0, 1, XF_ABI_PAGE);
  bool per_thread = here && threads_work_alone(*model_);
  uint64_t workspace_bytes = here ? workspace_stride(*model_) : 0;
  workspace_ = plan.add(workspace_bytes, per_thread ? pool_.size() : 1, XF_ABI_PAGE);
  uint64_t scratch = plan.add(here ? scratch_stride(*model_) : 0, pool_.size(), XF_ABI_PAGE);
  if (header.generate.present)
    search_ = std::make_unique<searcher>(*this, *model_, plan);
  if (header.predict.present)
    predict_ = std::make_unique<predictor>(*this, *model_, plan);
  arena_.reserve(plan.bytes());
  arena_.allow_huge_pages(0, plan.bytes(), false);
  arena_.allow_huge_pages(workspace_, workspace_bytes * (per_thread ? pool_.size() : 1), true);

  if (here)
    for (uint64_t offset : model_->kernels()[kernels_].offsets)
      addresses_.push_back(model_->code() + offset);
  write_views(states_, state_memory(), state_views_);
  contexts_.resize(pool_.size());
  for (int thread = 0; thread < pool_.size(); ++thread) {
    xf_abi_context &context = contexts_[thread].context;
    context = {};
    context.weights = model_->weights();
    context.states = state_views_.data();
    context.capacities = states_.room.capacities.data();
    context.workspace = arena_.at(workspace_);
    context.scratch = arena_.at(scratch + scratch_stride(*model_) * thread);
    context.kernels = addresses_.data();
    context.barrier = pool_.size() > 1 ? arrive : nullptr;
    context.runtime = &pool_;
    context.thread = thread;
    context.threads = pool_.size();
  }
  size_t tensors = 1, dims = model_->dims().size() + 1;
  for (const entry_info &entry : model_->entries())
    tensors = std::max(tensors, entry.inputs.size() + entry.outputs.size() + 1);
  call_dims_.resize(dims);
  call_io_.resize(tensors);
  if (per_thread) {
    thread_dims_.resize(2 * dims * pool_.size());
    thread_io_.resize(tensors * pool_.size());
  }
  if (search_)
    search_->bind(arena_);
  if (predict_)
    predict_->bind(arena_);
}

void session::make_room(const state_room &room) {
  if (executor_)
    return;
  wanted_states_.lay_out(*model_, room);
  // A layout with room enough is kept unless it spreads over far more memory.
  if (states_.room.covers(room) && states_.bytes / 2 <= wanted_states_.bytes)
    return;
  std::swap(states_, wanted_states_);
  write_views(states_, state_memory(), state_views_);
  for (thread_context &thread : contexts_)
    thread.context.capacities = states_.room.capacities.data();
}

void session::call(const entry_info &entry, const int64_t *dims, void *const *io, std::span<void *const> next) {
  if (executor_)
    return executor_->call(entry, dims, io, next);
  for (thread_context &thread : contexts_) {
    thread.context.dims = dims;
    thread.context.io = io;
  }
  fp_scope control_word;
  pool_.run([&](int thread) { plan_of(entry)(&contexts_[thread].context); });
}

// Whether rows are the outermost dimension of all tensors that have them, and enough for all threads.
bool session::can_split(const entry_info &entry, const int64_t *dims) const {
  int rows = model_->header().generate.batch_dim;
  if (dims[rows] < int64_t(min_rows_per_thread_) * pool_.size())
    return false;
  for (const auto *tensors : {&entry.inputs, &entry.outputs})
    for (const tensor_info &tensor : *tensors)
      for (size_t axis = 1; axis < tensor.dim.size(); ++axis)
        if (tensor.dimension(axis) == rows)
          return false;
  return true;
}

void session::step(const entry_info &entry, const int64_t *dims, void *const *io) {
  if (executor_ || !can_split(entry, dims))
    return call(entry, dims, io);
  run_per_thread([&](int thread, lone_caller &caller) { step_rows(entry, dims, io, thread, caller); });
}

// The rows of one thread.
void session::step_rows(const entry_info &entry, const int64_t *dims, void *const *io, int64_t thread, lone_caller &caller) const {
  int row_dim = model_->header().generate.batch_dim;
  int64_t threads = pool_.size(), first = dims[row_dim] * thread / threads, end = dims[row_dim] * (thread + 1) / threads;
  int64_t pieces = (end - first + max_rows_per_call_ - 1) / max_rows_per_call_;
  for (int64_t *target : {caller.dims(), caller.offset_dims()})
    std::copy_n(dims, model_->dims().size(), target);
  for (int64_t piece = 0; piece < pieces; ++piece) {
    int64_t from = first + (end - first) * piece / pieces, to = first + (end - first) * (piece + 1) / pieces;
    caller.offset_dims()[row_dim] = from;
    caller.dims()[row_dim] = to - from;
    auto offset = [&](const tensor_info &tensor) {
      bool has_rows = !tensor.dim.empty() && tensor.dimension(0) == row_dim;
      return has_rows ? model_->bytes(tensor, caller.offset_dims()) : 0;
    };
    caller.call(entry, io, offset, from);
  }
}

xf_abi_entry_fn session::plan_of(const entry_info &entry) const {
  return reinterpret_cast<xf_abi_entry_fn>(reinterpret_cast<uintptr_t>(model_->code() + entry.code_offset));
}

lone_caller::lone_caller(session &owner, int thread) : owner_(owner), context_(owner.contexts_[thread].context) {
  auto threads = static_cast<size_t>(owner.threads()), index = static_cast<size_t>(thread);
  dims_ = owner.thread_dims_.data() + owner.thread_dims_.size() / threads * index;
  offset_dims_ = dims_ + owner.thread_dims_.size() / threads / 2;
  io_ = owner.thread_io_.data() + owner.thread_io_.size() / threads * index;
  context_.workspace = owner.arena_.at(owner.workspace_ + workspace_stride(*owner.model_) * index);
  context_.barrier = nullptr;
  context_.thread = 0;
  context_.threads = 1;
  context_.dims = dims_;
  context_.io = io_;
}

void lone_caller::run(const entry_info &entry, int64_t first_row) {
  context_.first_row = first_row;
  owner_.plan_of(entry)(&context_);
}

} // namespace xf::rt
