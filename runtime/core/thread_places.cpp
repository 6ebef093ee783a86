#include "runtime/core/thread_places.h"

#include "runtime/core/cpu.h"

#include <algorithm>

#include <pthread.h>

namespace xf::rt {

bool thread_places::bind(std::thread &worker, int cpu) {
  size_t size = set_.size() * sizeof(cpu_set_t);
  CPU_ZERO_S(size, set_.data());
  CPU_SET_S(cpu, size, set_.data());
  return pthread_setaffinity_np(worker.native_handle(), size, set_.data()) == 0;
}

void thread_places::take(std::span<std::thread> workers) {
  std::vector<int> allowed = allowed_cpus();
  int own = sched_getcpu();
  auto found = std::find(allowed.begin(), allowed.end(), own);
  if (found == allowed.end() || allowed.size() != workers.size() + 1)
    return;
  set_.resize(allowed.back() / CPU_SETSIZE + 1);
  allowed.erase(found);
  for (size_t i = 0; i < workers.size(); ++i)
    if (!bind(workers[i], allowed[i]))
      return;
  cpus_ = std::move(allowed);
  free_ = own;
}

void thread_places::make_room(std::span<std::thread> workers) {
  if (cpus_.empty())
    return;
  int own = sched_getcpu();
  auto taken = std::find(cpus_.begin(), cpus_.end(), own);
  if (taken == cpus_.end())
    return;
  if (!bind(workers[taken - cpus_.begin()], free_)) {
    cpus_.clear(); // the process may use other CPUs than it could
    return;
  }
  *taken = free_;
  free_ = own;
}

} // namespace xf::rt
