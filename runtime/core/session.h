// A session: a model ready to run on some threads, with all its memory reserved. One call at a time.
#ifndef RUNTIME_CORE_SESSION_H
#define RUNTIME_CORE_SESSION_H

#include "runtime/core/arena.h"
#include "runtime/core/model.h"
#include "runtime/core/predict.h"
#include "runtime/core/search.h"
#include "runtime/core/threads.h"
#include "runtime/device/choose.h"
#include "runtime/device/executor.h"

#include <memory>
#include <vector>

namespace xf::rt {

struct session_options {
  int threads = 0; // 0: as many as the process may use
  int isa = -1;    // -1: the best
  device_kind device = device_kind::best;
};

// What a session reserves at most, in bytes.
struct memory_bound {
  uint64_t weights;   // mapped, shared by all sessions and processes
  uint64_t state;
  uint64_t workspace;
  uint64_t scratch;   // of one thread
  uint64_t search;    // inputs, outputs and bookkeeping of generate and predict
  uint64_t total(int threads) const { return weights + state + workspace + scratch * threads + search; }
};
memory_bound memory_of(const model &m);

class session {
public:
  session(std::shared_ptr<const model> m, session_options options);

  const model &get_model() const { return *model_; }
  int threads() const { return pool_.size(); }
  int isa() const { return isa_; }
  // Where entries run if not on the CPU, else null; then states() is not used.
  device_executor *executor() { return executor_.get(); }
  const char *device_name() const { return executor_ ? executor_->name() : "cpu"; }
  thread_pool &pool() { return pool_; }
  uint8_t *states() const { return arena_.at(states_); }

  // Runs an entry on all threads: `dims` by number in the model's table, `io` its inputs, then its outputs.
  // Nothing is checked here.
  void call(const entry_info &entry, const int64_t *dims, void *const *io);

  // The same for arguments that a caller made (binding.h checks them); scratch for its dims and pointers.
  int64_t *call_dims() { return call_dims_.data(); }
  void **call_io() { return call_io_.data(); }

  // Null where the model does not generate or predict.
  searcher *search() { return search_.get(); }
  predictor *prediction() { return predict_.get(); }

private:
  struct alignas(64) thread_context {
    xf_abi_context context;
  };

  std::shared_ptr<const model> model_;
  std::unique_ptr<device_executor> executor_;
  int kernels_; // index in the model's kernel tables; -1 where another device runs them
  int isa_;     // of the kernels, or of what the runtime itself computes
  thread_pool pool_;
  arena arena_;
  uint64_t states_ = 0;
  std::vector<const void *> addresses_;
  std::vector<thread_context> contexts_;
  std::vector<int64_t> call_dims_;
  std::vector<void *> call_io_;
  std::unique_ptr<searcher> search_;
  std::unique_ptr<predictor> predict_;
};

} // namespace xf::rt

#endif
