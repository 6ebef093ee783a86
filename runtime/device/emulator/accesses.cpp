#include "runtime/device/emulator/accesses.h"

#include "runtime/device/emulator/memory.h"

namespace xf::rt::emulator {

void global_accesses::page::split() {
  std::vector<cell> bytes;
  for (const cell &word : cells)
    bytes.insert(bytes.end(), kWord, word);
  cells = std::move(bytes);
  shift = 0;
}

global_accesses::page &global_accesses::find_page(uint64_t number) {
  auto &found = pages_[number];
  if (!found)
    found = std::make_unique<page>();
  return *found;
}

void global_accesses::check_writer(const cell &c, uint32_t thread, const char *verb) const {
  if (c.written < launch_)
    return;
  if (c.written < block_)
    throw fault{std::string(verb) + " memory that another block of the launch has written"};
  if (c.written == epoch_ && c.writer != thread)
    throw fault{std::string(verb) + " memory that thread " + std::to_string(c.writer) + " has written with no barrier between"};
}

void global_accesses::read_cell(cell &c, uint32_t thread, bool has_awaited) {
  if (!has_awaited && c.written)
    throw fault{"reads memory that a launch before has written, and has not waited for it"};
  check_writer(c, thread, "reads");
  bool again = c.read >= launch_;
  if (again && (c.reader == kOtherBlocks || c.read < block_))
    c.reader = kOtherBlocks;
  else
    c.reader = again && c.read == epoch_ && c.reader != thread ? kSeveral : static_cast<uint16_t>(thread);
  c.read = epoch_;
}

void global_accesses::write(uint64_t address, uint32_t bytes, uint32_t thread) {
  for_cells(address, bytes, [&](cell &c) {
    check_writer(c, thread, "writes");
    if (c.read >= launch_) {
      if (c.read < block_ || c.reader == kOtherBlocks)
        throw fault{"writes memory that another block of the launch has read"};
      if (c.read == epoch_ && c.reader != thread)
        throw fault{"writes memory that another thread has read with no barrier between"};
    }
    c.writer = static_cast<uint16_t>(thread);
    c.written = epoch_;
  });
}

void global_accesses::forget(uint64_t address, uint64_t bytes) {
  recent_.fill({});
  for (uint64_t number = address / kPageBytes; !pages_.empty() && number <= (address + bytes) / kPageBytes; ++number)
    pages_.erase(number);
}

} // namespace xf::rt::emulator
