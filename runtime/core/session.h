// A session: a model ready to run on some threads, with all its memory reserved. One call at a time.
#ifndef RUNTIME_CORE_SESSION_H
#define RUNTIME_CORE_SESSION_H

#include "runtime/core/arena.h"
#include "runtime/core/cpu.h"
#include "runtime/core/model.h"
#include "runtime/core/predict.h"
#include "runtime/core/search.h"
#include "runtime/core/states.h"
#include "runtime/core/threads.h"
#include "runtime/device/choose.h"
#include "runtime/device/executor.h"

#include <memory>
#include <span>
#include <vector>

namespace xf::rt {

class session;

struct session_options {
  int threads = 0; // 0: as many as the process may use
  int isa = -1;    // -1: the best
  device_kind device = device_kind::best;
  thread_source source;
  // In a search's steps: rows that each thread must get to work alone, and rows that it then takes at once (see session::step). With more,
  // what kernels hand to each other leaves the second-level cache (compare grouping.cpp).
  int min_rows_per_thread = 16, max_rows_per_call = 128;
};

// What a session reserves at most, in bytes.
struct memory_bound {
  uint64_t weights;   // mapped, shared by all sessions and processes
  uint64_t state;
  uint64_t workspace; // of one thread if sentences are searched or predicted, else of all together
  uint64_t scratch;   // of one thread
  uint64_t search;    // inputs, outputs and bookkeeping of generate and predict
  bool by_thread;
  uint64_t workspaces(int threads) const { return by_thread ? workspace * threads : workspace; }
  uint64_t total(int threads) const { return weights + state + workspaces(threads) + scratch * threads + search; }
};
memory_bound memory_of(const model &m);

// Calls of one thread alone, while others do the same: each with a workspace of its own, and without waiting for the others.
class lone_caller {
public:
  // Dimensions by index in the model's table: those of the calls, and those of what is in front of a call's part of a tensor, for the caller.
  int64_t *dims() { return dims_; }
  int64_t *offset_dims() { return offset_dims_; }
  // `io`: inputs, then outputs, of which offset(tensor) says how many bytes are in front of the call's part. `first_row`: of a STEP, which
  // row of the states is its row 0.
  template <typename F> void call(const entry_info &entry, void *const *io, F offset, int64_t first_row = 0) {
    size_t inputs = entry.inputs.size();
    for (size_t i = 0; i < inputs + entry.outputs.size(); ++i)
      io_[i] = static_cast<uint8_t *>(io[i]) + offset(i < inputs ? entry.inputs[i] : entry.outputs[i - inputs]);
    run(entry, first_row);
  }

private:
  friend session;
  lone_caller(session &owner, int thread);
  void run(const entry_info &entry, int64_t first_row);

  const session &owner_;
  int64_t *dims_, *offset_dims_;
  void **io_;
  xf_abi_context context_;
};

class session {
public:
  session(std::shared_ptr<const model> m, session_options options);

  const model &get_model() const { return *model_; }
  int threads() const { return pool_.size(); }
  int isa() const { return isa_; }
  // Where entries run if not on the CPU, else null; then states() and state_memory() are not used.
  device_executor *executor() { return executor_.get(); }
  const char *device_name() const { return executor_ ? executor_->name() : "cpu"; }
  thread_pool &pool() { return pool_; }
  // Tokens that a call of an entry over sentences should have at most.
  int64_t tokens_at_once() const { return max_tokens_per_call(threads(), executor_ != nullptr); }
  // Bytes: what memory_of states, beside the weights.
  uint64_t reserved() const { return arena_.bytes(); }
  const state_layout &states() const { return states_; }
  uint8_t *state_memory() const { return arena_.at(state_memory_); }
  // Before a search: lays the states out for what it needs. They are zeros then, or what searches of the same layout left.
  void make_room(const state_room &room);

  // Runs an entry on all threads: `dims` by index in the model's table, `io` its inputs, then its outputs.
  // Nothing is checked here. Outputs that are also in `next`, the inputs of the call that follows, may be kept for that call alone.
  void call(const entry_info &entry, const int64_t *dims, void *const *io, std::span<void *const> next = {});

  // The same for a step of a search, whose rows do not depend on each other. Where each thread gets enough of them, it runs the
  // plan alone on its own rows, with a workspace of its own, and waits for the others at the end of the step only.
  void step(const entry_info &entry, const int64_t *dims, void *const *io);

  // Calls f(thread, caller) on each thread, for calls of its own.
  template <typename F> void run_per_thread(F f) {
    fp_scope control_word;
    pool_.run([&](int thread) {
      lone_caller caller(*this, thread);
      f(thread, caller);
    });
  }

  // The same as `call` for arguments that a caller made (binding.h checks them); scratch for its dims and pointers.
  int64_t *call_dims() { return call_dims_.data(); }
  void **call_io() { return call_io_.data(); }

  // What plans call, by the kernels' indices: a tool that measures puts functions of its own in front of them. None on another device.
  std::span<const void *> kernels() { return addresses_; }

  // Null where the model does not generate or predict.
  searcher *search() { return search_.get(); }
  predictor *prediction() { return predict_.get(); }

private:
  friend lone_caller;
  struct alignas(64) thread_context {
    xf_abi_context context;
  };

  xf_abi_entry_fn plan_of(const entry_info &entry) const;
  bool can_split(const entry_info &entry, const int64_t *dims) const;
  void step_rows(const entry_info &entry, const int64_t *dims, void *const *io, int64_t thread, lone_caller &caller) const;

  std::shared_ptr<const model> model_;
  std::unique_ptr<device_executor> executor_;
  int kernels_; // index in the model's kernel tables; -1 where another device runs them
  int isa_;     // of the kernels, or of what the runtime itself computes
  thread_pool pool_;
  arena arena_;
  uint64_t state_memory_ = 0, workspace_ = 0;
  state_layout states_, wanted_states_;
  std::vector<xf_abi_state_view> state_views_;
  std::vector<const void *> addresses_;
  std::vector<thread_context> contexts_;
  int min_rows_per_thread_, max_rows_per_call_;
  // Of threads that work alone: [thread][2][dimension], [thread][tensor].
  std::vector<int64_t> thread_dims_;
  std::vector<void *> thread_io_;
  std::vector<int64_t> call_dims_;
  std::vector<void *> call_io_;
  std::unique_ptr<searcher> search_;
  std::unique_ptr<predictor> predict_;
};

} // namespace xf::rt

#endif
