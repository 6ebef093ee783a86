#include "runtime/core/session.h"

#include "runtime/core/cpu.h"
#include "runtime/core/error.h"

#include <algorithm>

namespace xf::rt {

namespace {

std::unique_ptr<device_executor> open_executor(const std::shared_ptr<const model> &m, device_kind kind) {
  std::unique_ptr<device> chosen = make_device(*m, kind);
  return chosen ? std::make_unique<device_executor>(m, std::move(chosen)) : nullptr;
}

// With another device the plans alone run here, and the runtime's own loops.
int select_isa(int requested) {
  int supported = detect_isa();
  return choose_isa({requested >= 0 ? requested : supported}, supported, requested);
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

// Threads must not share cache lines of their scratch.
uint64_t scratch_stride(const model &m) { return (m.header().scratch_bytes + 127) / 64 * 64 + 64; }

} // namespace

memory_bound memory_of(const model &m) {
  const xf_abi_image &header = m.header();
  arena_plan search;
  if (header.generate.present)
    search_layout layout(m, search);
  if (header.predict.present)
    predict_layout layout(m, search);
  return {header.weights.size, header.state_bytes, header.workspace_bytes, scratch_stride(m), search.bytes()};
}

session::session(std::shared_ptr<const model> m, session_options options)
    : model_(std::move(m)), executor_(open_executor(model_, options.device)),
      kernels_(executor_ ? -1 : select_kernels(*model_, options.isa)),
      isa_(executor_ ? select_isa(options.isa) : model_->kernels()[kernels_].isa),
      pool_(thread_count(options.threads), available_cpus()) {
  const xf_abi_image &header = model_->header();
  bool here = !executor_;
  arena_plan plan;
  states_ = plan.add(here ? header.state_bytes : 0, 1, XF_ABI_PAGE);
  uint64_t workspace = plan.add(here ? header.workspace_bytes : 0, 1, XF_ABI_PAGE);
  uint64_t scratch = plan.add(here ? scratch_stride(*model_) : 0, pool_.size(), XF_ABI_PAGE);
  if (header.generate.present)
    search_ = std::make_unique<searcher>(*this, *model_, plan);
  if (header.predict.present)
    predict_ = std::make_unique<predictor>(*this, *model_, plan);
  arena_.reserve(plan.bytes());
  arena_.allow_huge_pages(0, plan.bytes(), false);
  arena_.allow_huge_pages(workspace, here ? header.workspace_bytes : 0, true);

  if (here)
    for (uint64_t offset : model_->kernels()[kernels_].offsets)
      addresses_.push_back(model_->code() + offset);
  contexts_.resize(pool_.size());
  for (int thread = 0; thread < pool_.size(); ++thread) {
    xf_abi_context &context = contexts_[thread].context;
    context = {};
    context.weights = model_->weights();
    context.state = arena_.at(states_);
    context.workspace = arena_.at(workspace);
    context.scratch = arena_.at(scratch + scratch_stride(*model_) * thread);
    context.kernels = addresses_.data();
    context.barrier = pool_.size() > 1 ? arrive : nullptr;
    context.runtime = &pool_;
    context.thread = thread;
    context.threads = pool_.size();
  }
  size_t tensors = 0;
  for (const entry_info &entry : model_->entries())
    tensors = std::max(tensors, entry.inputs.size() + entry.outputs.size());
  call_dims_.resize(model_->dims().size() + 1);
  call_io_.resize(tensors + 1);
  if (search_)
    search_->bind(arena_);
  if (predict_)
    predict_->bind(arena_);
}

void session::call(const entry_info &entry, const int64_t *dims, void *const *io) {
  if (executor_)
    return executor_->call(entry, dims, io);
  struct arguments {
    xf_abi_entry_fn plan;
    thread_context *contexts;
  } call = {reinterpret_cast<xf_abi_entry_fn>(reinterpret_cast<uintptr_t>(model_->code() + entry.code_offset)),
            contexts_.data()};
  for (thread_context &thread : contexts_) {
    thread.context.dims = dims;
    thread.context.io = io;
  }
  fp_scope control_word;
  pool_.run(
      [](void *argument, int thread) {
        auto *call = static_cast<arguments *>(argument);
        call->plan(&call->contexts[thread].context);
      },
      &call);
}

} // namespace xf::rt
