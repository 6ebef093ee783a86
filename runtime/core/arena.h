// The one block of memory of a session: address space is reserved when the session starts, pages are
// touched as they are used, and nothing is allocated after.
#ifndef RUNTIME_CORE_ARENA_H
#define RUNTIME_CORE_ARENA_H

#include <cstddef>
#include <cstdint>

namespace xf::rt {

// Hands out ranges of a block that does not exist yet, so that its size is known before it is reserved.
class arena_plan {
public:
  // The offset of `count` elements of `size` bytes. Throws when the sum leaves the address space.
  uint64_t add(uint64_t count, uint64_t size, uint64_t alignment = 64);
  uint64_t bytes() const { return bytes_; }

private:
  uint64_t bytes_ = 0;
};

class arena {
public:
  arena() = default;
  ~arena();
  arena(const arena &) = delete;
  arena &operator=(const arena &) = delete;

  void reserve(uint64_t bytes);
  // Whether the kernel may back these whole pages with huge ones. The workspace is dense and gains from them; of states only
  // the positions that come are touched, and huge pages would make resident what is never used.
  void allow_huge_pages(uint64_t offset, uint64_t bytes, bool allowed);
  uint64_t bytes() const { return bytes_; }
  uint8_t *at(uint64_t offset) const { return data_ + offset; }
  template <typename T> T *as(uint64_t offset) const { return reinterpret_cast<T *>(data_ + offset); }

private:
  uint8_t *data_ = nullptr;
  uint64_t bytes_ = 0;
};

} // namespace xf::rt

#endif
