// A warp: 32 threads that execute a function's instructions together.
//
// The first of the threads' places in the code is executed, by all threads that are there: threads that diverge at a
// branch come together again where the paths meet, since later code waits for earlier code; and threads that come to a
// barrier or an exchange wait for the others of their warp.
#ifndef RUNTIME_DEVICE_EMULATOR_WARP_H
#define RUNTIME_DEVICE_EMULATOR_WARP_H

#include "runtime/device/emulator/memory.h"
#include "runtime/device/emulator/program.h"

namespace xf::rt::emulator {

// What a launch gives all its blocks.
struct launch_state {
  const function *code;
  global_memory *memory;
  const uint8_t *parameters;
  uint32_t blocks, threads;
};

class warp {
public:
  // Threads first_thread … of the launch's blocks.
  warp(const launch_state &launch, uint32_t first_thread);
  // Puts the warp at the start of this block.
  void start(uint32_t block);

  enum class stop { barrier, end };
  // Runs up to the next barrier or the end. Throws faults.
  stop run(shared_memory &shared);
  // The line and thread that are being executed, for messages.
  int line() const { return line_; }
  uint32_t thread() const { return first_thread_ + static_cast<uint32_t>(lane_); }

private:
  template <typename T> T *row(int32_t index) { return reinterpret_cast<T *>(registers_.data() + index * kLanes); }
  template <typename R, typename F> void each(const instruction &i, F f);
  void fill(int32_t row, uint32_t (*value)(const warp &, int));

  void execute(const instruction &i);
  void execute_arithmetic(const instruction &i);
  void execute_moves(const instruction &i);
  template <typename T> void integer(const instruction &i);
  template <typename T> void floating(const instruction &i);
  template <typename T> void bits(const instruction &i);
  template <typename T> void compare(const instruction &i);
  template <typename T> void select(const instruction &i);
  void convert(const instruction &i);
  void convert_pair(const instruction &i);
  template <typename From> void convert_from(const instruction &i);
  void narrow(const instruction &i);
  void widen(const instruction &i);
  template <typename From, typename To> void convert_to(const instruction &i);
  void permute(const instruction &i);
  void logic(const instruction &i);
  void load(const instruction &i);
  void find_sources(const instruction &i, const uint8_t **from);
  template <typename T> void load_lanes(const instruction &i, const uint8_t *const *from);
  void store(const instruction &i);
  void start_copy(const instruction &i);
  bool has_awaited() const { return awaited_ >> lane_ & 1; }
  void load_matrices(const instruction &i);
  void multiply(const instruction &i);
  void need_whole_warp(const char *what);
  void shuffle(const instruction &i);
  void reduce_lanes(const instruction &i);
  void ballot(const instruction &i);
  template <typename F> void combine_lanes(const instruction &i, F combine);
  uint32_t members(const instruction &i, int lane);
  void branch(const instruction &i);
  void leave();
  void reconverge();
  // Lanes that have yet to come to the instruction at which the active ones are. park() makes these wait for them.
  uint32_t missing(const instruction &i);
  void park();
  [[noreturn]] void fail_missing(int lane, op where);
  [[noreturn]] void fail_lane(int lane, const std::string &what);

  const launch_state launch_;
  uint32_t first_thread_;
  std::vector<uint32_t> registers_;
  shared_memory *shared_ = nullptr;
  uint32_t block_ = 0;
  uint32_t live_ = 0;     // lanes that have not ended
  uint32_t active_ = 0;   // lanes that are at pc_
  uint32_t parked_ = 0;   // lanes that wait for others at a barrier or an exchange
  uint32_t mask_ = 0;     // active lanes whose guard holds for the instruction
  uint32_t awaited_ = 0;  // lanes that have waited for the launches before
  bool diverged_ = false; // whether a branch has parted the lanes, and nothing has made them wait for each other since
  int64_t pc_ = 0;
  int64_t reconvergence_pc_ = 0; // the first place at which other lanes wait
  int64_t lane_pcs_[kLanes] = {};
  int line_ = 0, lane_ = 0;
};

} // namespace xf::rt::emulator

#endif
