#include "runtime/core/thread_affinity.h"

#include "runtime/core/cpu.h"

#include <algorithm>

#include <sched.h>

namespace xf::rt {

void thread_affinity::bind(std::span<std::thread> workers) {
  std::vector<int> allowed = allowed_cpus();
  auto current = std::find(allowed.begin(), allowed.end(), sched_getcpu());
  if (current == allowed.end() || allowed.size() != workers.size() + 1)
    return;
  std::swap(*current, allowed.front());
  for (size_t i = 0; i < workers.size(); ++i)
    if (!bind_to_cpu(workers[i].native_handle(), allowed[i + 1]))
      return;
  cpus_ = std::move(allowed);
}

void thread_affinity::follow_caller(std::span<std::thread> workers) {
  auto current = std::find(cpus_.begin(), cpus_.end(), sched_getcpu());
  if (current == cpus_.end() || current == cpus_.begin())
    return;
  if (bind_to_cpu(workers[current - cpus_.begin() - 1].native_handle(), cpus_.front()))
    std::swap(*current, cpus_.front());
  else
    cpus_.clear(); // the process may use other CPUs than it could
}

} // namespace xf::rt
