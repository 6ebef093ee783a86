// Runs a model's entries on a device: the plans run on the CPU, on addresses of the device's memory, and every kernel
// that they call becomes a launch.
//
// A call's small tensors are copied together: inputs that are as they were in the last call stay where they are, and the
// outputs come back in one piece.
#ifndef RUNTIME_DEVICE_EXECUTOR_H
#define RUNTIME_DEVICE_EXECUTOR_H

#include "runtime/core/model.h"
#include "runtime/core/states.h"
#include "runtime/device/device.h"
#include "runtime/device/device_memory.h"

#include <exception>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

namespace xf::rt {

struct row_move;

class device_executor {
public:
  // Takes the device's memory for states and workspace, and for the code and weights if no other session of the model has them there.
  device_executor(std::shared_ptr<const model> m, std::unique_ptr<device> d);
  device_executor(const device_executor &) = delete;
  device_executor &operator=(const device_executor &) = delete;

  const char *name() const { return device_->name(); }
  // `f` asks the device for something. Where that goes wrong the device does nothing more when this throws: what it copies from and to
  // may be changed, and given up. Inputs may not have come.
  template <typename F> void submit(F f) {
    try {
      f();
    } catch (...) {
      valid_.assign(valid_.size(), false);
      drain();
      throw;
    }
  }
  // `io` is the host's memory. Outputs that are also in `next`, the inputs of the call that follows, stay on the device for that call alone: the
  // host's memory is not written.
  void call(const entry_info &entry, const int64_t *dims, void *const *io, std::span<void *const> next = {});
  // Copies, in all states that move with search rows, the rows' first positions.
  void move_rows(std::span<const row_move> moves);

  // The parts of calls, for steps that follow each other without the host, each inside submit(). They return before the device is done.
  device &get_device() { return *device_; }
  const model &get_model() const { return *model_; }
  // Inputs must not be changed before the device has been waited for.
  void upload(const entry_info &entry, const int64_t *dims, void *const *io);
  // Runs the entry on what lies in the device's memory; the sizes of tensors are those of the upload.
  void run(const entry_info &entry, const int64_t *dims);
  // Where a tensor of the upload lies, inputs first; invalidate() says that the device itself changes an input.
  uint8_t *tensor(size_t index) const { return forwarded(index) ? forwarded(index) : io_memory_.get() + layout_.offsets[index]; }
  void invalidate(size_t input) { valid_[input] = false; }
  // `moves` is on the device: i32 [count, 3].
  void move_rows(uint8_t *moves, int64_t count);
  void launch(const gpu_kernel &kernel, const xf_abi_view *views);

private:
  // Where the tensors of a call lie in the memory for arguments, and behind them its end.
  struct call_layout {
    const entry_info *entry = nullptr;
    std::vector<uint64_t> offsets, bytes;
    uint64_t outputs = 0, end = 0; // where outputs begin, and all
    bool operator==(const call_layout &) const = default;
  };
  // Memory for an output that stays on the device for the next call, and the output's address on the host; null: none stays there now.
  struct forwarded_output {
    const void *host = nullptr;
    device_memory memory;
  };

  static void launch(const xf_abi_context *context, const xf_abi_view *views, int64_t index);
  // Launches a kernel that a plan calls. One that may be launched together with the next is held back until that is known.
  void launch_called(size_t index, const xf_abi_view *views);
  void launch_held();
  void launch(const gpu_launch &chosen, std::span<const xf_abi_view> views);
  call_layout lay_out(const entry_info &entry, const int64_t *dims) const;
  void reserve(call_layout layout);
  void drain() noexcept;
  void send(const entry_info &entry, const int64_t *dims, void *const *io);
  uint8_t *forwarded(size_t index) const { return index < forwarded_.size() ? forwarded_[index] : nullptr; }
  void set_forwarded(const entry_info &entry, const int64_t *dims, void *const *io, std::span<void *const> next);
  bool staged() const { return layout_.end <= staging_.bytes(); }
  void download_outputs(void *const *io);
  void take_outputs(void *const *io) const;

  std::shared_ptr<const model> model_;
  std::unique_ptr<device> device_;
  const uint8_t *weights_; // of the program that the device keeps
  device_memory state_memory_, workspace_, io_memory_, moves_;
  state_layout states_; // for the model's limits
  std::vector<xf_abi_state_view> state_views_;
  host_memory staging_, staged_moves_;
  call_layout layout_;            // of the last call
  std::vector<bool> valid_;       // inputs that are on the device as they were copied
  std::vector<uint8_t> resident_; // and what they are
  std::vector<forwarded_output> forwarded_outputs_;
  std::vector<uint8_t *> forwarded_; // where the last call's tensors are that are not in the memory for arguments, or null
  std::vector<void *> io_;
  std::vector<const void *> kernels_;
  std::vector<bool> begins_pair_;      // of each kernel
  size_t held_kernel_ = 0;
  std::vector<xf_abi_view> held_, both_; // of the kernel that is held back, or none; and of two that are launched together
  uint64_t moves_mark_ = 0;
  std::exception_ptr problem_; // of a launch, behind which nothing is launched any more
};

// A tensor of a device's memory as kernels take it.
xf_abi_view make_view(const void *data, std::initializer_list<int64_t> sizes, std::initializer_list<int64_t> strides);

} // namespace xf::rt

#endif
