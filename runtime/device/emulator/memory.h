// The memories that kernels reach, and what is checked of every access.
#ifndef RUNTIME_DEVICE_EMULATOR_MEMORY_H
#define RUNTIME_DEVICE_EMULATOR_MEMORY_H

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace xf::rt::emulator {

// What is wrong with an access, without where it happened.
struct fault {
  std::string what;
};

// Global memory: blocks of the host's, with nothing allowed between them.
class global_memory {
public:
  // Filled with a pattern that is a NaN as a float and far out of range as an index.
  uint8_t *allocate(uint64_t bytes);
  void release(const void *block);
  // Lets kernels use memory that somebody else owns.
  void adopt(uint64_t begin, uint64_t end) { blocks_[begin] = {nullptr, begin, end}; }
  // Throws a fault unless all the bytes lie in one block.
  void check(uint64_t address, uint64_t bytes, const char *verb) const;

private:
  struct block {
    std::unique_ptr<uint8_t[]> memory;
    uint64_t begin, end;
  };
  std::map<uint64_t, block> blocks_; // by begin
  mutable uint64_t last_begin_ = 1, last_end_ = 0;
};

// A block's shared memory. Between two barriers no thread may read what another writes, nor write what another reads
// or writes; and nobody may read what nobody has written.
class shared_memory {
public:
  explicit shared_memory(uint32_t bytes);
  // For the next block.
  void clear();
  void pass_barrier() { ++interval_; }
  uint8_t *read(uint64_t address, uint32_t bytes, uint32_t thread);
  uint8_t *write(uint64_t address, uint32_t bytes, uint32_t thread);

private:
  static constexpr uint32_t kWord = 4, kMany = 0xffffffff;
  struct word {
    uint32_t write_interval = 0, read_interval = 0; // 0: never
    uint32_t writer = 0, reader = 0;
  };
  void check(uint64_t address, uint32_t bytes, const char *verb) const;

  std::vector<uint8_t> bytes_;
  std::vector<word> words_;
  uint32_t interval_ = 1;
};

} // namespace xf::rt::emulator

#endif
