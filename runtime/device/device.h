// A device beside the CPU: memory of its own, and kernels that run there in the order in which they are launched.
#ifndef RUNTIME_DEVICE_DEVICE_H
#define RUNTIME_DEVICE_DEVICE_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace xf::rt {

// `rows` pieces of `bytes` bytes, `pitch` apart, from one place of the device's memory to another that does not overlap.
struct strided_copy {
  uint8_t *to;
  const uint8_t *from;
  uint64_t bytes, pitch, rows;
};

// What goes wrong is thrown as an error with a message. Addresses are the device's: nobody else reads them.
class device {
public:
  virtual ~device() = default;
  virtual const char *name() const = 0;

  // Takes a module's text; function `number` of a launch is functions[number].
  virtual void load(std::string_view ptx, const std::vector<std::string> &functions) = 0;

  // Aligned to 256 bytes.
  virtual uint8_t *allocate(uint64_t bytes) = 0;
  virtual void release(uint8_t *memory) = 0;
  // These wait for what was launched before, and return when they are done.
  virtual void upload(uint8_t *to, const void *from, uint64_t bytes) = 0;
  virtual void download(void *to, const uint8_t *from, uint64_t bytes) = 0;
  virtual void copy(const strided_copy &c) = 0;
  // Sets bytes to 0.
  virtual void clear(uint8_t *memory, uint64_t bytes) = 0;

  virtual void launch(size_t function, uint32_t blocks, uint32_t threads, const void *parameters, size_t bytes) = 0;
};

} // namespace xf::rt

#endif
