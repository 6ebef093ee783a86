// The linker sends calls of these functions here (--wrap), those inside the C++ library included.
#include "test/runtime/allocations.h"

#include <atomic>
#include <cstddef>

#include <malloc.h>
#include <sys/types.h>

namespace {
std::atomic<long> count{0}, used{0}, peak{0};
}

long xf_test_allocations() { return count; }
long xf_test_peak() { return peak.exchange(used) - used; }

#ifdef XF_COUNT_ALLOCATIONS
bool xf_test_counts_allocations() { return true; }

extern "C" {
void *__real_malloc(size_t);
void *__real_calloc(size_t, size_t);
void *__real_realloc(void *, size_t);
void *__real_aligned_alloc(size_t, size_t);
int __real_posix_memalign(void **, size_t, size_t);
void *__real_mmap(void *, size_t, int, int, int, off_t);

void __real_free(void *);

void *__wrap_malloc(size_t size) {
  ++count;
  void *memory = __real_malloc(size);
  used += static_cast<long>(malloc_usable_size(memory));
  if (used > peak)
    peak = used.load();
  return memory;
}
void __wrap_free(void *memory) {
  used -= static_cast<long>(malloc_usable_size(memory));
  __real_free(memory);
}
void *__wrap_calloc(size_t n, size_t size) { return ++count, __real_calloc(n, size); }
void *__wrap_realloc(void *old, size_t size) { return ++count, __real_realloc(old, size); }
void *__wrap_aligned_alloc(size_t alignment, size_t size) { return ++count, __real_aligned_alloc(alignment, size); }
int __wrap_posix_memalign(void **result, size_t alignment, size_t size) { return ++count, __real_posix_memalign(result, alignment, size); }
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int file, off_t offset) {
  return ++count, __real_mmap(at, size, protection, flags, file, offset);
}
}
#else
bool xf_test_counts_allocations() { return false; }
#endif
