#include "runtime/core/thread_places.h"

#include "runtime/core/cpu.h"

#include <algorithm>

#include <sched.h>

namespace xf::rt {

void thread_places::take(std::span<std::thread> workers) {
  std::vector<int> allowed = allowed_cpus();
  auto own = std::find(allowed.begin(), allowed.end(), sched_getcpu());
  if (own == allowed.end() || allowed.size() != workers.size() + 1)
    return;
  std::swap(*own, allowed.front());
  for (size_t i = 0; i < workers.size(); ++i)
    if (!bind_to_cpu(workers[i].native_handle(), allowed[i + 1]))
      return;
  cpus_ = std::move(allowed);
}

void thread_places::make_room(std::span<std::thread> workers) {
  auto own = std::find(cpus_.begin(), cpus_.end(), sched_getcpu());
  if (own == cpus_.end() || own == cpus_.begin())
    return;
  if (bind_to_cpu(workers[own - cpus_.begin() - 1].native_handle(), cpus_.front()))
    std::swap(*own, cpus_.front());
  else
    cpus_.clear(); // the process may use other CPUs than it could
}

} // namespace xf::rt
