#include "runtime/device/emulator/memory.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace xf::rt::emulator {

namespace {

template <typename... T> [[noreturn]] void raise(const char *format, T... values) {
  char text[256];
  std::snprintf(text, sizeof(text), format, values...);
  throw fault{text};
}

} // namespace

uint8_t *global_memory::allocate(uint64_t bytes) {
  constexpr uint64_t kAlignment = 256, kDistance = uint64_t(1) << 56; // no address of x86 or Arm
  auto memory = std::make_unique_for_overwrite<uint8_t[]>(bytes + kAlignment);
  uint64_t data = (reinterpret_cast<uint64_t>(memory.get()) + kAlignment - 1) / kAlignment * kAlignment, begin = data + kDistance;
  std::memset(reinterpret_cast<uint8_t *>(data), 0xff, bytes);
  blocks_[begin] = {std::move(memory), begin, begin + bytes, kDistance};
  return reinterpret_cast<uint8_t *>(begin);
}

void global_memory::release(const void *data) {
  last_ = nullptr;
  blocks_.erase(reinterpret_cast<uint64_t>(data));
}

uint8_t *global_memory::check(uint64_t address, uint64_t bytes, const char *verb) const {
  if (address % bytes != 0)
    raise("%s %llu bytes at an address that is no multiple of it", verb, static_cast<unsigned long long>(bytes));
  return check_range(address, bytes, verb);
}

uint8_t *global_memory::check_range(uint64_t address, uint64_t bytes, const char *verb) const {
  if (bytes == 0)
    return nullptr;
  auto is_in = [&](const block &b) { return address >= b.begin && address < b.end && bytes <= b.end - address; };
  if (!last_ || !is_in(*last_)) {
    auto after = blocks_.upper_bound(address);
    const block *before = after == blocks_.begin() ? nullptr : &std::prev(after)->second;
    if (!before || (!is_in(*before) && address - before->begin >= before->end - before->begin + (1 << 20)))
      raise("%s outside of memory, at %#llx", verb, static_cast<unsigned long long>(address));
    if (!is_in(*before))
      raise("%s outside of memory, %lld bytes behind a block of %llu", verb, static_cast<long long>(address - before->end),
            static_cast<unsigned long long>(before->end - before->begin));
    last_ = before;
  }
  return reinterpret_cast<uint8_t *>(address - last_->distance);
}

shared_memory::shared_memory(uint32_t bytes) : bytes_((bytes + 15) / 16 * 16), words_(bytes_.size() / kWord) {}

void shared_memory::clear() {
  std::fill(bytes_.begin(), bytes_.end(), uint8_t(0xff));
  std::fill(words_.begin(), words_.end(), word());
  copies_.clear();
  interval_ = 1;
}

void shared_memory::check(uint64_t address, uint32_t bytes, const char *verb) const {
  if (address % bytes != 0)
    raise("%s %u bytes of shared memory at %llu, which is no multiple of it", verb, bytes,
          static_cast<unsigned long long>(address));
  if (address > bytes_.size() || bytes > bytes_.size() - address)
    raise("%s shared memory at %lld, outside of its %llu bytes", verb, static_cast<long long>(address),
          static_cast<unsigned long long>(bytes_.size()));
}

uint8_t *shared_memory::read(uint64_t address, uint32_t bytes, uint32_t thread) {
  check(address, bytes, "reads");
  for (uint64_t w = address / kWord; w <= (address + bytes - 1) / kWord; ++w) {
    word &state = words_[w];
    if (state.arriving)
      raise("reads shared memory at %llu, where a copy of thread %u arrives that has not been waited for",
            static_cast<unsigned long long>(w * kWord), state.writer);
    if (state.write_interval == 0)
      raise("reads shared memory at %llu, which nobody has written", static_cast<unsigned long long>(w * kWord));
    if (state.write_interval == interval_ && state.writer != thread)
      raise("reads shared memory at %llu, which thread %u has written with no barrier between",
            static_cast<unsigned long long>(w * kWord), state.writer);
    state.reader = state.read_interval == interval_ && state.reader != thread ? kMany : thread;
    state.read_interval = interval_;
  }
  return bytes_.data() + address;
}

uint8_t *shared_memory::write(uint64_t address, uint32_t bytes, uint32_t thread) {
  check(address, bytes, "writes");
  for (uint64_t w = address / kWord; w <= (address + bytes - 1) / kWord; ++w) {
    word &state = words_[w];
    if (state.arriving)
      raise("writes shared memory at %llu, where a copy of thread %u arrives that has not been waited for",
            static_cast<unsigned long long>(w * kWord), state.writer);
    if (state.write_interval == interval_ && state.writer != thread)
      raise("writes shared memory at %llu, which thread %u has written with no barrier between",
            static_cast<unsigned long long>(w * kWord), state.writer);
    if (state.read_interval == interval_ && state.reader != thread)
      raise("writes shared memory at %llu, which %s has read with no barrier between",
            static_cast<unsigned long long>(w * kWord), state.reader == kMany ? "more than one thread" : "another thread");
    state.writer = thread;
    state.write_interval = interval_;
  }
  return bytes_.data() + address;
}

shared_memory::thread_copies &shared_memory::copies_of(uint32_t thread) {
  if (thread >= copies_.size())
    copies_.resize(thread + 1);
  return copies_[thread];
}

uint8_t *shared_memory::start_copy(uint64_t address, uint32_t bytes, uint32_t thread) {
  uint8_t *to = write(address, bytes, thread);
  for (uint64_t w = address / kWord; w < (address + bytes) / kWord; ++w)
    words_[w].arriving = true;
  thread_copies &own = copies_of(thread);
  own.under_way.push_back({address, bytes, own.groups});
  return to;
}

void shared_memory::close_copies(uint32_t thread) { ++copies_of(thread).groups; }

void shared_memory::await_copies(uint32_t thread, int64_t open) {
  thread_copies &own = copies_of(thread);
  std::erase_if(own.under_way, [&](const copy &c) {
    if (open >= 0 && c.group + open >= own.groups)
      return false;
    for (uint64_t w = c.address / kWord; w < (c.address + c.bytes) / kWord; ++w) {
      words_[w].arriving = false;
      words_[w].write_interval = interval_;
    }
    return true;
  });
}

} // namespace xf::rt::emulator
