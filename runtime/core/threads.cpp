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
  return syscall(SYS_futex, reinterpret_cast<uint32_t *>(word), operation | FUTEX_PRIVATE_FLAG, value, nullptr, nullptr, 0);
}

// While it lives, threads that start leave the process's signals to the program's own threads. Signals of a thread's faults stay its
// own, and profilers see all threads.
class blocked_signals {
public:
  blocked_signals() {
    sigset_t blocked;
    sigfillset(&blocked);
    for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF})
      sigdelset(&blocked, signal);
    pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  }
  ~blocked_signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  blocked_signals(const blocked_signals &) = delete;

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
    : threads_(threads), spinning_(threads <= cpus ? kSpinning : kSpinning.zero()), source_(source), team_(start()) {}

std::unique_ptr<thread_pool::worker_team> thread_pool::start() {
  auto made = std::make_unique<worker_team>(getpid());
  if (source_.run)
    return made;
  const blocked_signals blocked;
  try {
    made->workers.reserve(threads_ - 1);
    for (int thread = 1; thread < threads_; ++thread)
      made->workers.emplace_back([this, &team = *made, thread] { work(team, thread); });
    made->affinity.bind(made->workers);
  } catch (const std::exception &) { // no memory, or no thread
    made->dismiss();
    fail(status::out_of_memory, "cannot start %d threads", threads_);
  }
  return made;
}

void thread_pool::worker_team::dismiss() {
  stop = true;
  started.advance();
  for (std::thread &worker : workers)
    worker.join();
}

// Behind a fork() the workers are not in this process, and their handles may be other threads' by now: they are neither waited for nor
// given back.
bool thread_pool::has_lost_team() const { return !team_->workers.empty() && getpid() != team_->process; }

thread_pool::~thread_pool() {
  if (has_lost_team())
    team_.release();
  else
    team_->dismiss();
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
  if (has_lost_team()) {
    std::unique_ptr<worker_team> team = start();
    team_.release();
    team_ = std::move(team);
  }
  caller_ = pthread_self();
  team_->affinity.follow_caller(team_->workers);
  team_->running.store(threads_ - 1, std::memory_order_relaxed);
  uint32_t finished = team_->finished.value();
  team_->started.advance();
  function(argument, 0);
  team_->finished.wait(finished, spinning_);
}

void thread_pool::barrier() {
  if (threads_ == 1)
    return;
  worker_team &team = *team_;
  uint32_t phase = team.phase.value();
  if (team.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
    team.arrived.store(0, std::memory_order_relaxed);
    team.phase.advance();
  } else if (team.phase.wait(phase, spinning_) && pthread_equal(pthread_self(), caller_)) {
    team.affinity.follow_caller(team.workers); // the caller may have been woken on the CPU of the thread that arrived last
  }
}

void thread_pool::run_task(int thread) {
  fp_scope control_word;
  function_(argument_, thread);
}

void thread_pool::work(worker_team &team, int thread) {
  fp_scope control_word;
  uint32_t seen = 0;
  while (true) {
    team.started.wait(seen, spinning_);
    ++seen;
    if (team.stop)
      return;
    function_(argument_, thread);
    if (team.running.fetch_sub(1, std::memory_order_acq_rel) == 1)
      team.finished.advance();
  }
}

} // namespace xf::rt
