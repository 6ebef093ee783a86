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

// While it lives, threads that start leave the process's signals to the program's own threads. Signals of a thread's faults stay its
// own, and profilers see all threads.
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
    : threads_(threads), spinning_(threads <= cpus ? kSpinning : kSpinning.zero()), source_(source), crew_(start()) {}

std::unique_ptr<thread_pool::crew> thread_pool::start() {
  auto made = std::make_unique<crew>(getpid());
  if (source_.run)
    return made;
  const hidden_signals hidden;
  try {
    made->workers.reserve(threads_ - 1);
    for (int thread = 1; thread < threads_; ++thread)
      made->workers.emplace_back([this, &own = *made, thread] { work(own, thread); });
    made->places.take(made->workers);
  } catch (const std::exception &) { // no memory, or no thread
    made->dismiss();
    fail(status::out_of_memory, "cannot start %d threads", threads_);
  }
  return made;
}

void thread_pool::crew::dismiss() {
  stop = true;
  started.advance();
  for (std::thread &worker : workers)
    worker.join();
}

// Behind a fork() the workers are not in this process, and their handles may be other threads' by now: they are neither waited for nor
// given back.
bool thread_pool::has_lost_crew() const { return !crew_->workers.empty() && getpid() != crew_->process; }

thread_pool::~thread_pool() {
  if (has_lost_crew())
    crew_.release();
  else
    crew_->dismiss();
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
  if (has_lost_crew()) {
    std::unique_ptr<crew> own = start();
    crew_.release();
    crew_ = std::move(own);
  }
  caller_ = pthread_self();
  crew_->places.make_room(crew_->workers);
  crew_->running.store(threads_ - 1, std::memory_order_relaxed);
  uint32_t finished = crew_->finished.value();
  crew_->started.advance();
  function(argument, 0);
  crew_->finished.wait(finished, spinning_);
}

void thread_pool::barrier() {
  if (threads_ == 1)
    return;
  crew &all = *crew_;
  uint32_t phase = all.phase.value();
  if (all.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
    all.arrived.store(0, std::memory_order_relaxed);
    all.phase.advance();
  } else if (all.phase.wait(phase, spinning_) && pthread_equal(pthread_self(), caller_)) {
    all.places.make_room(all.workers); // the caller may have been woken on the CPU of the thread that arrived last
  }
}

void thread_pool::run_task(int thread) {
  fp_scope control_word;
  function_(argument_, thread);
}

void thread_pool::work(crew &own, int thread) {
  fp_scope control_word;
  uint32_t seen = 0;
  while (true) {
    own.started.wait(seen, spinning_);
    ++seen;
    if (own.stop)
      return;
    function_(argument_, thread);
    if (own.running.fetch_sub(1, std::memory_order_acq_rel) == 1)
      own.finished.advance();
  }
}

} // namespace xf::rt
