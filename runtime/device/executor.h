// Runs a model's entries on a device: the plans run on the CPU, on addresses of the device's memory, and every kernel
// that they call becomes a launch.
#ifndef RUNTIME_DEVICE_EXECUTOR_H
#define RUNTIME_DEVICE_EXECUTOR_H

#include "runtime/core/model.h"
#include "runtime/device/device.h"

#include <exception>
#include <memory>
#include <vector>

namespace xf::rt {

class device_executor {
public:
  // Takes the device's memory for weights, states and workspace, and copies the weights.
  device_executor(std::shared_ptr<const model> m, std::unique_ptr<device> d);
  ~device_executor();
  device_executor(const device_executor &) = delete;
  device_executor &operator=(const device_executor &) = delete;

  const char *name() const { return device_->name(); }
  // `io` is the host's memory.
  void call(const entry_info &entry, const int64_t *dims, void *const *io);
  // Copies the first `positions` positions of a row of all states that move with search rows.
  void copy_row(int32_t from, int32_t to, int64_t positions);

private:
  static void launch(const xf_abi_context *context, const xf_abi_view *views, int64_t number);
  void reserve_io(uint64_t bytes);

  std::shared_ptr<const model> model_;
  std::unique_ptr<device> device_;
  uint8_t *weights_ = nullptr, *state_ = nullptr, *workspace_ = nullptr, *io_memory_ = nullptr;
  uint64_t io_bytes_ = 0;
  std::vector<void *> io_;
  std::vector<const void *> kernels_;
  std::exception_ptr problem_; // of a launch, behind which nothing is launched any more
};

} // namespace xf::rt

#endif
