// A small pool: the threads of one session. The caller is thread 0; the others wait, spinning for a while (a step follows a step) and
// then asleep. Or threads that the program around us has already.
#ifndef RUNTIME_CORE_THREADS_H
#define RUNTIME_CORE_THREADS_H

#include "runtime/core/thread_affinity.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include <pthread.h>

namespace xf::rt {

// A counter that threads wait on: spins for a while, then sleeps in the kernel.
class event_count {
public:
  uint32_t value() const { return value_.load(std::memory_order_acquire); }
  // Sets the next value and wakes all that wait.
  void advance();
  // Returns when the value differs from `old`, and whether it has slept meanwhile.
  bool wait(uint32_t old, std::chrono::microseconds spinning);

private:
  std::atomic<uint32_t> value_{0};
  std::atomic<uint32_t> sleepers_{0};
};

// How long a thread spins. To wake one takes long, above all in a virtual machine, and all others wait for it meanwhile: with 25 a
// sentence's steps take 1 to 2 % longer.
constexpr std::chrono::microseconds kSpinning{200};

// Work on fewer bytes is not worth waking the other threads.
constexpr int64_t kBytesWorthThreads = 1 << 17;

// Threads of the caller's own: run(context, threads, task, argument) calls task(argument, thread) for each thread from 0 on, all of
// them at the same time, and returns when they have returned. Null: the pool starts its own.
struct thread_source {
  using task = void (*)(void *argument, int32_t thread);
  void (*run)(void *context, int32_t threads, task function, void *argument) = nullptr;
  void *context = nullptr;
};

class thread_pool {
public:
  // `threads` counts the caller; `cpus` is what they share: no spinning when they outnumber it.
  thread_pool(int threads, int cpus, thread_source source = {});
  ~thread_pool();
  thread_pool(const thread_pool &) = delete;
  thread_pool &operator=(const thread_pool &) = delete;

  int size() const { return threads_; }

  using job = void (*)(void *argument, int thread);
  // Runs the job once on every thread and returns when all are done. One caller at a time; jobs must
  // not throw. In the child of a fork() that came between two jobs it first starts threads anew.
  void run(job function, void *argument);
  // The same for what is called as f(thread).
  template <typename F> void run(F f) {
    run([](void *argument, int thread) { (*static_cast<F *>(argument))(thread); }, &f);
  }

  // Calls f(thread, threads) on all threads, or on this one alone where so many bytes are not worth waking the others.
  template <typename F> void share(int64_t bytes, F f) {
    if (bytes < kBytesWorthThreads)
      f(0, 1);
    else
      run([&](int thread) { f(thread, threads_); });
  }

  // Inside a job: returns when all threads have arrived.
  void barrier();

private:
  // The threads of one process, and what they and the caller wait on.
  struct worker_team {
    explicit worker_team(pid_t process) : process(process) {}
    void dismiss();

    const pid_t process;
    alignas(64) event_count started;
    alignas(64) event_count finished;
    alignas(64) event_count phase;
    alignas(64) std::atomic<int> arrived{0};
    alignas(64) std::atomic<int> running{0};
    std::atomic<bool> stop{false};
    std::vector<std::thread> workers;
    thread_affinity affinity;
  };

  std::unique_ptr<worker_team> start();
  bool has_lost_team() const;
  void work(worker_team &team, int thread);
  void run_task(int thread); // on a thread of the source's

  const int threads_;
  const std::chrono::microseconds spinning_;
  const thread_source source_;
  job function_ = nullptr;
  void *argument_ = nullptr;
  std::unique_ptr<worker_team> team_; // of this process, except after a fork() until the next job
  pthread_t caller_{}; // while a job runs
};

} // namespace xf::rt

#endif
