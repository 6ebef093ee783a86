// A device besides the CPU: memory of its own, and copies and kernels that it works off in the order in which they are asked for.
#ifndef RUNTIME_DEVICE_DEVICE_H
#define RUNTIME_DEVICE_DEVICE_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace xf::rt {

// What goes wrong is thrown as an error with a message. Addresses are the device's: nobody else reads them.
class device {
public:
  virtual ~device() = default;
  virtual const char *name() const = 0;

  // A model's code and weights on a device.
  class program {
  public:
    virtual ~program() = default;
    virtual uint8_t *weights() const = 0;
  };
  // Loads a module's text, and takes memory for weights. Where devices share programs, another device of the kind may use the program,
  // even when this one is gone; else it must not outlive the device.
  virtual std::shared_ptr<program> load(std::string_view ptx, const std::vector<std::string> &functions, uint64_t weight_bytes) = 0;
  virtual bool shares_programs() const = 0;
  // Function `index` of the launches that follow is functions[index] of that program, which the device keeps.
  virtual void use(std::shared_ptr<const program> loaded) = 0;

  // What allocate() aligns to.
  static constexpr uint64_t kAlignment = 256;
  // Releasing waits for the device.
  virtual uint8_t *allocate(uint64_t bytes) = 0;
  virtual void release(uint8_t *memory) = 0;
  // Memory of the host that the device reads and writes by itself, so that copies need not be waited for one by one. Releasing waits for the
  // device.
  virtual uint8_t *allocate_host(uint64_t bytes) = 0;
  virtual void release_host(uint8_t *memory) = 0;

  // These return at once. Until they have been waited for, memory of the host that they read must not be changed, and what
  // they write is not there. What goes wrong with a kernel may be thrown by any later function. `bytes`
  // may be 0.
  virtual void upload(uint8_t *to, const void *from, uint64_t bytes) = 0;
  virtual void download(void *to, const uint8_t *from, uint64_t bytes) = 0;
  // Sets bytes to 0.
  virtual void clear(uint8_t *memory, uint64_t bytes) = 0;
  // The parameters are copied.
  virtual void launch(size_t function, uint32_t blocks, uint32_t threads, const void *parameters, size_t bytes) = 0;

  // Launches that are asked for again and again. From begin_recording() to end_recording() launches are kept, not done; nothing else
  // may be asked for meanwhile. replay() asks for all that a recording has, in their order, at less cost than one by one. A
  // recording must not outlive the device.
  class recording {
  public:
    virtual ~recording() = default;
  };
  // False where the device cannot record; nothing has begun then.
  virtual bool begin_recording() = 0;
  // Null where it turns out that it cannot: nothing has been done then, and nothing is kept.
  virtual std::unique_ptr<recording> end_recording() = 0;
  virtual void replay(const recording &recorded) = 0;

  // A number for what has been asked for so far, and waiting for that.
  virtual uint64_t mark() = 0;
  virtual void wait(uint64_t mark) = 0;
};

} // namespace xf::rt

#endif
