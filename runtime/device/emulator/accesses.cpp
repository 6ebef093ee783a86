#include "runtime/device/emulator/accesses.h"

#include "runtime/device/emulator/memory.h"

#include <algorithm>

namespace xf::rt::emulator {

global_accesses::word &global_accesses::at(uint64_t address) {
  uint64_t number = address / kPageBytes;
  if (number != last_number_) {
    auto &found = pages_[number];
    if (!found)
      found = std::make_unique<page>();
    last_ = found.get();
    last_number_ = number;
  }
  return last_->words[address % kPageBytes / kWord];
}

template <typename F> void global_accesses::for_words(uint64_t address, uint32_t bytes, F f) {
  for (uint64_t end = address + bytes; address < end;) {
    uint64_t first = address % kWord, count = std::min(kWord - first, end - address);
    f(at(address), static_cast<uint8_t>(((1u << count) - 1) << first));
    address += count;
  }
}

void global_accesses::check_writer(const word &w, uint8_t bytes, uint32_t thread, const char *verb) const {
  if (w.written < launch_ || !(w.bytes_written & bytes))
    return;
  if (w.written < block_)
    throw fault{std::string(verb) + " memory that another block of the launch has written"};
  if (w.written == moment_ && w.writer != thread)
    throw fault{std::string(verb) + " memory that thread " + std::to_string(w.writer) + " has written with no barrier between"};
}

void global_accesses::read(uint64_t address, uint32_t bytes, uint32_t thread) {
  for_words(address, bytes, [&](word &w, uint8_t own) {
    check_writer(w, own, thread, "reads");
    bool overlaps = w.read >= launch_ && w.bytes_read & own;
    if (overlaps && (w.reader == kOtherBlocks || w.read < block_))
      w.reader = kOtherBlocks;
    else
      w.reader = overlaps && w.read == moment_ && w.reader != thread ? kSeveral : static_cast<uint16_t>(thread);
    w.read = moment_;
    w.bytes_read = own;
  });
}

void global_accesses::write(uint64_t address, uint32_t bytes, uint32_t thread) {
  for_words(address, bytes, [&](word &w, uint8_t own) {
    check_writer(w, own, thread, "writes");
    if (w.read >= launch_ && w.bytes_read & own) {
      if (w.read < block_ || w.reader == kOtherBlocks)
        throw fault{"writes memory that another block of the launch has read"};
      if (w.read == moment_ && w.reader != thread)
        throw fault{"writes memory that another thread has read with no barrier between"};
    }
    w.writer = static_cast<uint16_t>(thread);
    w.written = moment_;
    w.bytes_written = own;
  });
}

} // namespace xf::rt::emulator
