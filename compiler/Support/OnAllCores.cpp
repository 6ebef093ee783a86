#include "compiler/Support/OnAllCores.h"

#include "llvm/Support/Threading.h"

#include <system_error>
#include <thread>
#include <vector>

namespace xf {

void onAllCores(size_t most, llvm::function_ref<void()> work) {
  size_t count = std::min<size_t>(most, llvm::hardware_concurrency().compute_thread_count());
  std::vector<std::thread> others;
  try {
    while (others.size() + 1 < count)
      others.emplace_back(work);
  } catch (const std::system_error &) { // those that there are do it
  }
  work();
  for (std::thread &other : others)
    other.join();
}

} // namespace xf
