// Memory of a device, and of the host for its copies, that is given back by itself.
#ifndef RUNTIME_DEVICE_DEVICE_MEMORY_H
#define RUNTIME_DEVICE_DEVICE_MEMORY_H

#include "runtime/device/device.h"

#include <algorithm>
#include <utility>

namespace xf::rt {

template <uint8_t *(device::*take)(uint64_t), void (device::*give)(uint8_t *)> class owned_memory {
public:
  owned_memory() = default;
  // Never empty.
  owned_memory(device &d, uint64_t bytes) : device_(&d), bytes_(std::max<uint64_t>(bytes, 1)) { memory_ = (d.*take)(bytes_); }
  owned_memory(owned_memory &&other) noexcept { swap(other); }
  owned_memory &operator=(owned_memory &&other) noexcept {
    owned_memory(std::move(other)).swap(*this);
    return *this;
  }
  ~owned_memory() {
    if (memory_)
      (device_->*give)(memory_);
  }

  uint8_t *get() const { return memory_; }
  uint64_t bytes() const { return bytes_; }
  // Makes room; what was there is lost.
  void grow(device &d, uint64_t bytes) {
    if (bytes <= bytes_)
      return;
    *this = {};
    *this = owned_memory(d, bytes);
  }

private:
  void swap(owned_memory &other) noexcept {
    std::swap(device_, other.device_);
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
  }

  device *device_ = nullptr;
  uint8_t *memory_ = nullptr;
  uint64_t bytes_ = 0;
};

using device_memory = owned_memory<&device::allocate, &device::release>;
using host_memory = owned_memory<&device::allocate_host, &device::release_host>;

} // namespace xf::rt

#endif
