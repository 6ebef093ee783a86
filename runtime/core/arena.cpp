#include "runtime/core/arena.h"

#include "runtime/abi/xf_abi.h"
#include "runtime/core/error.h"

#include <cerrno>
#include <cstring>

#include <sys/mman.h>

namespace xf::rt {

uint64_t arena_plan::add(uint64_t count, uint64_t size, uint64_t alignment) {
  uint64_t offset = (bytes_ + alignment - 1) / alignment * alignment;
  if (size != 0 && count > XF_ABI_MAX_BYTES / size)
    fail(status::out_of_memory, "the model's limits ask for more memory than a process can address");
  bytes_ = offset + count * size;
  if (bytes_ > XF_ABI_MAX_BYTES)
    fail(status::out_of_memory, "the model's limits ask for more memory than a process can address");
  return offset;
}

arena::~arena() {
  if (data_)
    munmap(data_, bytes_);
}

void arena::reserve(uint64_t bytes) {
  bytes = bytes < 4096 ? 4096 : bytes;
  void *data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED)
    fail(status::out_of_memory, "cannot reserve %.1f MiB for the session: %s", bytes / 1048576.0, std::strerror(errno));
  data_ = static_cast<uint8_t *>(data);
  bytes_ = bytes;
}

void arena::allow_huge_pages(uint64_t offset, uint64_t bytes, bool allowed) {
  constexpr uint64_t kPage = 4096;
  uint64_t begin = (offset + kPage - 1) / kPage * kPage, end = (offset + bytes) / kPage * kPage;
  // Only advice: a kernel that does not take it runs as well.
  if (begin < end)
    madvise(data_ + begin, end - begin, allowed ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

} // namespace xf::rt
