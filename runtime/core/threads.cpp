#include "runtime/core/threads.h"

#include "runtime/core/cpu.h"
#include "runtime/core/error.h"

#include <climits>
#include <exception>

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace xf::rt {

namespace {

long futex(std::atomic<uint32_t> *word, int operation, uint32_t value) {
  return syscall(SYS_futex, reinterpret_cast<uint32_t *>(word), operation | FUTEX_PRIVATE_FLAG, value, nullptr,
                 nullptr, 0);
}

// While it lives, threads that start leave the process's signals to the program's own. What a thread does wrong stays its own, and
// profilers see all threads.
class hidden_signals {
public:
  hidden_signals() {
    sigset_t hidden;
    sigfillset(&hidden);
    for (int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF})
      sigdelset(&hidden, own);
    pthread_sigmask(SIG_BLOCK, &hidden, &before_);
  }
  ~hidden_signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  hidden_signals(const hidden_signals &) = delete;

private:
  sigset_t before_;
};

} // namespace

void event_count::advance() {
  value_.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) != 0)
    futex(&value_, FUTEX_WAKE, INT_MAX);
}

bool event_count::wait(uint32_t old, std::chrono::microseconds spinning) {
  using clock = std::chrono::steady_clock;
  clock::time_point end{};
  while (spinning.count() > 0) {
    for (int i = 0; i < 50; ++i) { // a pause takes 3 to 50 ns, to ask for the time 25
      if (value_.load(std::memory_order_acquire) != old)
        return false;
      _mm_pause();
    }
    clock::time_point now = clock::now();
    if (end == clock::time_point{})
      end = now + spinning;
    if (now >= end)
      break;
  }
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  while (value_.load(std::memory_order_seq_cst) == old)
    futex(&value_, FUTEX_WAIT, old);
  sleepers_.fetch_sub(1, std::memory_order_seq_cst);
  return true;
}

thread_pool::thread_pool(int threads, int cpus, thread_source source)
    : threads_(threads), spinning_(threads <= cpus ? kSpinning : kSpinning.zero()), process_(getpid()), source_(source) {
  if (source_.run)
    return;
  const hidden_signals hidden;
  try {
    workers_.reserve(threads - 1);
    for (int thread = 1; thread < threads; ++thread)
      workers_.emplace_back([this, thread] { work(thread); });
    places_.take(workers_);
  } catch (const std::exception &) { // no memory, or no thread
    stop_ = true;
    started_.advance();
    for (std::thread &worker : workers_)
      worker.join();
    fail(status::out_of_memory, "cannot start %d threads", threads);
  }
}

thread_pool::~thread_pool() {
  // Behind a fork() the workers are not in this process, and their handles may be other threads' by now: they are neither waited for nor
  // given back.
  if (getpid() != process_) {
    alignas(std::vector<std::thread>) char forgotten[sizeof(workers_)];
    new (forgotten) std::vector<std::thread>(std::move(workers_));
    return;
  }
  stop_ = true;
  started_.advance();
  for (std::thread &worker : workers_)
    worker.join();
}

void thread_pool::run(job function, void *argument) {
  if (threads_ == 1) {
    function(argument, 0);
    return;
  }
  function_ = function;
  argument_ = argument;
  if (source_.run) {
    source_.run(source_.context, threads_, [](void *pool, int32_t thread) { static_cast<thread_pool *>(pool)->run_task(thread); }, this);
    return;
  }
  caller_ = pthread_self();
  places_.make_room(workers_);
  running_.store(threads_ - 1, std::memory_order_relaxed);
  uint32_t finished = finished_.value();
  started_.advance();
  function(argument, 0);
  finished_.wait(finished, spinning_);
}

void thread_pool::barrier() {
  if (threads_ == 1)
    return;
  uint32_t phase = phase_.value();
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
    arrived_.store(0, std::memory_order_relaxed);
    phase_.advance();
  } else if (phase_.wait(phase, spinning_) && pthread_equal(pthread_self(), caller_)) {
    places_.make_room(workers_); // it may have been woken where the last one is
  }
}

void thread_pool::run_task(int thread) {
  fp_scope control_word;
  function_(argument_, thread);
}

void thread_pool::work(int thread) {
  fp_scope control_word;
  uint32_t seen = 0;
  while (true) {
    started_.wait(seen, spinning_);
    ++seen;
    if (stop_)
      return;
    function_(argument_, thread);
    if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1)
      finished_.advance();
  }
}

} // namespace xf::rt
