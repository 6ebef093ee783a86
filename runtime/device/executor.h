// Runs a model's entries on a device: the plans run on the CPU, on addresses of the device's memory, and every kernel
// that they call becomes a launch.
//
// A call's small tensors are copied together: inputs that are as they were in the last call stay where they are, and the
// outputs come back in one piece. Calls may be started before those before them have ended.
#ifndef RUNTIME_DEVICE_EXECUTOR_H
#define RUNTIME_DEVICE_EXECUTOR_H

#include "runtime/core/model.h"
#include "runtime/device/device.h"
#include "runtime/device/device_memory.h"

#include <array>
#include <exception>
#include <memory>
#include <span>
#include <vector>

namespace xf::rt {

struct row_move;

// An input that is not read from the host's memory, but taken from an output of the call before, of which it gets the first
// number of every row (0 where that is negative).
struct fed_input {
  size_t input, output;
};

class device_executor {
public:
  // Calls that may be under way at once.
  static constexpr size_t kCalls = 4;

  // Takes the device's memory for weights, states and workspace, and copies the weights.
  device_executor(std::shared_ptr<const model> m, std::unique_ptr<device> d);
  device_executor(const device_executor &) = delete;
  device_executor &operator=(const device_executor &) = delete;

  const char *name() const { return device_->name(); }
  // `io` is the host's memory.
  void call(const entry_info &entry, const int64_t *dims, void *const *io);

  // The same in two halves: start() reads the inputs and returns, finish() waits for the oldest call that was started and
  // writes its outputs. Without `fed` it is the first of a chain, and calls that have not been finished are dropped; with it
  // `entry` and the sizes of its tensors are those of the call before, of whose outputs one becomes an input.
  void start(const entry_info &entry, const int64_t *dims, void *const *io, const fed_input *fed = nullptr);
  void finish();
  // Whether a chain's calls are possible, which must not have too many bytes of arguments.
  bool can_chain(const entry_info &entry, const int64_t *dims) const;

  // Copies, in all states that move with search rows, the rows' first positions.
  void move_rows(std::span<const row_move> moves);

private:
  // Where the tensors of a call lie in the memory for arguments, and behind them its end.
  struct call_places {
    const entry_info *entry = nullptr;
    std::vector<uint64_t> begin, bytes;
    uint64_t outputs = 0, end = 0; // where outputs begin, and all
    bool operator==(const call_places &) const = default;
  };
  struct started_call {
    call_places places;
    std::vector<void *> outputs; // to be copied from the call's slot
    uint64_t mark = 0;
  };

  static void launch(const xf_abi_context *context, const xf_abi_view *views, int64_t number);
  void launch(const gpu_kernel &kernel, const xf_abi_view *views);
  void place(const entry_info &entry, const int64_t *dims, call_places &places) const;
  void reserve(const call_places &places);
  uint8_t *slot(size_t call) const { return staging_.get() + call % kCalls * slot_bytes_; }
  bool staged(const call_places &places) const { return places.end <= slot_bytes_; }
  void upload_inputs(const call_places &to, void *const *io, const fed_input *fed);
  void feed(const call_places &at, const fed_input &fed);
  void download_outputs(started_call &call, void *const *io);
  void wait(uint64_t mark);
  void run_plan(const entry_info &entry, const int64_t *dims);

  std::shared_ptr<const model> model_;
  std::unique_ptr<device> device_;
  device_memory weights_, state_, workspace_, io_memory_, moves_;
  host_memory staging_, staged_moves_; // staging_: a slot for each call under way
  uint64_t slot_bytes_ = 0;
  call_places resident_places_;        // of the last call whose inputs are still on the device
  std::vector<uint8_t> resident_;      // and what they are
  int fed_ = -1;                       // the input of which that is not known
  std::vector<void *> io_;
  std::vector<const void *> kernels_;
  std::array<started_call, kCalls> calls_;
  size_t started_ = 0, finished_ = 0;
  uint64_t moves_mark_ = 0;
  std::exception_ptr problem_; // of a launch, behind which nothing is launched any more
};

} // namespace xf::rt

#endif
