#include "runtime/device/emulator/accesses.h"

#include "runtime/device/emulator/memory.h"

namespace xf::rt::emulator {

void global_accesses::page::split() {
  std::vector<place> bytes;
  for (const place &word : places)
    bytes.insert(bytes.end(), kWord, word);
  places = std::move(bytes);
  shift = 0;
}

global_accesses::page &global_accesses::find_page(uint64_t number) {
  auto &found = pages_[number];
  if (!found)
    found = std::make_unique<page>();
  return *found;
}

void global_accesses::check_writer(const place &p, uint32_t thread, const char *verb) const {
  if (p.written < launch_)
    return;
  if (p.written < block_)
    throw fault{std::string(verb) + " memory that another block of the launch has written"};
  if (p.written == moment_ && p.writer != thread)
    throw fault{std::string(verb) + " memory that thread " + std::to_string(p.writer) + " has written with no barrier between"};
}

void global_accesses::read_place(place &p, uint32_t thread, bool has_awaited) {
  if (!has_awaited && p.written)
    throw fault{"reads memory that a launch before has written, and has not waited for it"};
  check_writer(p, thread, "reads");
  bool again = p.read >= launch_;
  if (again && (p.reader == kOtherBlocks || p.read < block_))
    p.reader = kOtherBlocks;
  else
    p.reader = again && p.read == moment_ && p.reader != thread ? kSeveral : static_cast<uint16_t>(thread);
  p.read = moment_;
}

void global_accesses::write(uint64_t address, uint32_t bytes, uint32_t thread) {
  for_places(address, bytes, [&](place &p) {
    check_writer(p, thread, "writes");
    if (p.read >= launch_) {
      if (p.read < block_ || p.reader == kOtherBlocks)
        throw fault{"writes memory that another block of the launch has read"};
      if (p.read == moment_ && p.reader != thread)
        throw fault{"writes memory that another thread has read with no barrier between"};
    }
    p.writer = static_cast<uint16_t>(thread);
    p.written = moment_;
  });
}

void global_accesses::forget(uint64_t address, uint64_t bytes) {
  recent_.fill({});
  for (uint64_t number = address / kPageBytes; !pages_.empty() && number <= (address + bytes) / kPageBytes; ++number)
    pages_.erase(number);
}

} // namespace xf::rt::emulator
