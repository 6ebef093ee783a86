// Which thread of a launch has read or written which word of global memory. Blocks of a launch run in any order and together, so
// what one of them writes no other may read or write; the same holds for threads of a block between two barriers.
#ifndef RUNTIME_DEVICE_EMULATOR_ACCESSES_H
#define RUNTIME_DEVICE_EMULATOR_ACCESSES_H

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace xf::rt::emulator {

class global_accesses {
public:
  void begin_launch() { launch_ = ++epoch_; }
  void begin_block() { block_ = ++epoch_; }
  void pass_barrier() { ++epoch_; }

  // Throw a fault if another thread has accessed the bytes with no barrier between, and one of the two writes. `has_awaited`: the thread has
  // waited for the launches before, which may still be writing otherwise.
  void read(uint64_t address, uint32_t bytes, uint32_t thread, bool has_awaited) {
    for_cells(address, bytes, [&](cell &c) {
      // Where several threads have read since the last barrier, none may have written.
      if (c.read != epoch_ || c.reader < kOtherBlocks || !has_awaited)
        read_cell(c, thread, has_awaited);
    });
  }
  void write(uint64_t address, uint32_t bytes, uint32_t thread);

  // Forgets accesses to memory that is newly allocated, and to what was beside it in a page.
  void forget(uint64_t address, uint64_t bytes);

private:
  static constexpr uint64_t kWord = 4, kPageBytes = 4096;
  static constexpr uint16_t kSeveral = 0xffff, kOtherBlocks = 0xfffe; // instead of a thread
  // The last writer and reader. Epochs count barriers, blocks and launches, so that older ones need not be cleared.
  struct cell {
    uint32_t written = 0, read = 0;
    uint16_t writer = 0, reader = 0;
  };
  // A page's cells are words, or bytes as soon as a word is accessed in part: other threads may access the rest.
  struct page {
    uint32_t shift = 2; // a cell has 1 << shift bytes
    std::vector<cell> cells = std::vector<cell>(kPageBytes / kWord);
    void split();
  };
  // Pages that have been found lately, by the low bits of their number.
  struct recent_page {
    uint64_t number = ~uint64_t(0);
    page *found = nullptr;
  };
  page &page_of(uint64_t address) {
    uint64_t number = address / kPageBytes;
    recent_page &recent = recent_[number % recent_.size()];
    if (recent.number != number)
      recent = {number, &find_page(number)};
    return *recent.found;
  }
  page &find_page(uint64_t number);
  template <typename F> void for_cells(uint64_t address, uint32_t bytes, F f) {
    for (uint64_t end = address + bytes; address < end;) {
      page &current = page_of(address);
      uint64_t first = address % kPageBytes, count = std::min(kPageBytes - first, end - address);
      if (current.shift != 0 && (first % kWord || count % kWord))
        current.split();
      for (uint64_t n = first >> current.shift; n < (first + count) >> current.shift; ++n)
        f(current.cells[n]);
      address += count;
    }
  }
  void read_cell(cell &c, uint32_t thread, bool has_awaited);
  void check_writer(const cell &c, uint32_t thread, const char *verb) const;

  std::unordered_map<uint64_t, std::unique_ptr<page>> pages_;
  std::array<recent_page, 256> recent_;
  uint32_t epoch_ = 0, launch_ = 0, block_ = 0;
};

} // namespace xf::rt::emulator

#endif
