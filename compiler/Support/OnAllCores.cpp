#include "compiler/Support/OnAllCores.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Threading.h"

#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace xf {

void onAllCores(size_t maxThreads, llvm::function_ref<void()> work) {
  size_t count = std::min<size_t>(maxThreads, llvm::hardware_concurrency().compute_thread_count());
  std::vector<std::thread> others;
  try {
    while (others.size() + 1 < count)
      others.emplace_back(work);
  } catch (const std::system_error &) { // the threads that there are do it
  }
  work();
  for (std::thread &other : others)
    other.join();
}

void onAllCores(llvm::ArrayRef<size_t> sizes, llvm::function_ref<void(size_t piece)> work) {
  auto queue = llvm::to_vector(llvm::seq<size_t>(0, sizes.size()));
  llvm::stable_sort(queue, [&](size_t a, size_t b) { return sizes[a] > sizes[b]; });
  std::atomic<size_t> next = 0;
  onAllCores(queue.size(), [&] {
    for (size_t i; (i = next++) < queue.size();)
      work(queue[i]);
  });
}

} // namespace xf
