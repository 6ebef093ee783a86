// CPUs for a pool's workers, where it has a thread for each.
//
// A kernel that sees no cache which CPUs share, as in some virtual machines, wakes a thread on the CPU of the one that wakes it though
// another is idle, and leaves both there for tens of milliseconds: as long as a sentence takes, and two threads are as slow as one.
#ifndef RUNTIME_CORE_THREAD_AFFINITY_H
#define RUNTIME_CORE_THREAD_AFFINITY_H

#include <span>
#include <thread>
#include <vector>

namespace xf::rt {

class thread_affinity {
public:
  // Binds each worker to a CPU of its own, other than the calling thread's, if that thread may use exactly as many CPUs as there are
  // threads: the workers and itself. Otherwise the kernel has the choice.
  void bind(std::span<std::thread> workers);
  // Makes room for the calling thread on the CPU that the kernel chose for it: a worker bound to that CPU gets the one where the caller was.
  void follow_caller(std::span<std::thread> workers);

private:
  std::vector<int> cpus_; // the caller's and each worker's, or none
};

} // namespace xf::rt

#endif
