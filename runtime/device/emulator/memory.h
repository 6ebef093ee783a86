// The memories that kernels reach, and the checks of every access.
#ifndef RUNTIME_DEVICE_EMULATOR_MEMORY_H
#define RUNTIME_DEVICE_EMULATOR_MEMORY_H

#include "runtime/device/emulator/accesses.h"
#include "runtime/device/emulator/program.h"

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace xf::rt::emulator {

// What is wrong with an access, but not where it happened.
struct fault {
  std::string what;
};

// Global memory: blocks with nothing allowed between them. Its addresses are not the host's: code that dereferences one outside of kernels
// and copies crashes, as on a machine with a GPU.
class global_memory {
public:
  // Filled with a pattern that is a NaN as a float and far out of range as an index.
  uint8_t *allocate(uint64_t bytes);
  void release(const void *block);
  // Lets kernels use memory of the host that something else owns.
  void adopt(uint64_t begin, uint64_t end) { blocks_[begin] = {nullptr, begin, end, 0}; }
  // Where the host has these bytes, whose number is a power of two. Throws a fault unless they lie in one block, at a multiple of that number.
  uint8_t *check(uint64_t address, uint64_t bytes, const char *verb) const;
  // The same for bytes anywhere; null if there are none.
  uint8_t *check_range(uint64_t address, uint64_t bytes, const char *verb) const;

  // What a launch has accessed so far.
  global_accesses accesses;

private:
  struct block {
    std::unique_ptr<uint8_t[]> memory;
    uint64_t begin, end;
    uint64_t distance; // from the host's addresses
  };
  std::map<uint64_t, block> blocks_; // by begin
  mutable const block *last_ = nullptr;
};

// A block's shared memory. Between two barriers no thread may read what another writes, nor write what another reads
// or writes; and nobody may read what nobody has written.
//
// A thread's asynchronous copies are written when it has waited for them. Until then nobody may touch their targets, and other
// threads only after a barrier that follows.
class shared_memory {
public:
  // With these variables, in the order of their addresses.
  explicit shared_memory(std::vector<shared_range> variables);
  // For the next block.
  void clear();
  void pass_barrier() { ++interval_; }
  // `bytes` is a power of two.
  const uint8_t *read(uint64_t address, uint32_t bytes, uint32_t thread) {
    for (unit &u : reach(address, bytes, "reads"))
      if (u.reading != reading(kMany)) // else nobody may have written since threads have read it
        read_unit(u, thread);
    return bytes_.data() + address;
  }
  uint8_t *write(uint64_t address, uint32_t bytes, uint32_t thread);

  // Where the bytes of a thread's new copy go.
  uint8_t *start_copy(uint64_t address, uint32_t bytes, uint32_t thread);
  // Makes the thread's copies since the last call a group.
  void close_copies(uint32_t thread);
  // The thread's groups but the newest `open` ones have arrived; with open < 0 all its copies have.
  void await_copies(uint32_t thread, int64_t open);

private:
  static constexpr uint16_t kMany = 0xffff;
  struct unit {
    uint64_t reading = 0; // the last one
    uint32_t write_interval = 0; // before the block's first one: never
    uint16_t writer = 0;
    bool arriving = false; // a copy of `writer` is under way
  };
  // The mark of a read in this interval, by a thread or kMany.
  uint64_t reading(uint32_t reader) const { return uint64_t(interval_) << 16 | reader; }
  bool is_read(const unit &u) const { return u.reading >> 16 == interval_; }
  struct copy {
    uint64_t address;
    uint32_t bytes;
    int64_t group;
  };
  struct thread_copies {
    std::vector<copy> in_flight;
    int64_t groups = 0; // closed ones
  };
  // The units of these bytes, which have to lie in one variable.
  std::span<unit> reach(uint64_t address, uint32_t bytes, const char *verb) {
    if (address & (bytes - 1) || address < last_.begin || address >= last_.end || bytes > last_.end - address)
      check_variable(address, bytes, verb);
    if (bytes >> unit_shift_ == 0)
      split_units(bytes);
    return {units_.data() + (address >> unit_shift_), bytes >> unit_shift_};
  }
  void read_unit(unit &u, uint32_t thread);
  [[noreturn]] void refuse(const unit &what, uint32_t thread, const char *verb) const;
  void check_variable(uint64_t address, uint32_t bytes, const char *verb);
  void split_units(uint32_t bytes);
  std::span<unit> units_of(const copy &c) { return {units_.data() + (c.address >> unit_shift_), c.bytes >> unit_shift_}; }
  thread_copies &copies_of(uint32_t thread);

  std::vector<shared_range> variables_;
  shared_range last_{}; // the variable that has been reached
  std::vector<uint8_t> bytes_;
  uint32_t unit_shift_ = 2; // a unit has 1 << unit_shift_ bytes: a word, until less is touched
  std::vector<unit> units_;
  std::vector<thread_copies> copies_; // by thread
  uint32_t interval_ = 1, first_interval_ = 1;
};

} // namespace xf::rt::emulator

#endif
