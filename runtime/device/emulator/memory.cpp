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
  constexpr uint64_t kAlignment = 256;
  block b{std::make_unique_for_overwrite<uint8_t[]>(bytes + kAlignment), 0, 0};
  b.begin = (reinterpret_cast<uint64_t>(b.memory.get()) + kAlignment - 1) / kAlignment * kAlignment;
  b.end = b.begin + bytes;
  auto *data = reinterpret_cast<uint8_t *>(b.begin);
  std::memset(data, 0xff, bytes);
  blocks_.emplace(b.begin, std::move(b));
  return data;
}

void global_memory::release(const void *data) {
  blocks_.erase(reinterpret_cast<uint64_t>(data));
  last_begin_ = 1, last_end_ = 0;
}

void global_memory::check(uint64_t address, uint64_t bytes, const char *verb) const {
  if (address % bytes != 0)
    raise("%s %llu bytes at an address that is no multiple of it", verb, static_cast<unsigned long long>(bytes));
  if (address >= last_begin_ && address + bytes <= last_end_)
    return;
  auto after = blocks_.upper_bound(address);
  if (after != blocks_.begin()) {
    const block &b = std::prev(after)->second;
    if (address + bytes <= b.end) {
      last_begin_ = b.begin, last_end_ = b.end;
      return;
    }
    if (address < b.end + (1 << 20))
      raise("%s outside of memory, %lld bytes behind a block of %llu", verb, static_cast<long long>(address - b.end),
            static_cast<unsigned long long>(b.end - b.begin));
  }
  raise("%s outside of memory, at %#llx", verb, static_cast<unsigned long long>(address));
}

shared_memory::shared_memory(uint32_t bytes) : bytes_((bytes + 15) / 16 * 16), words_(bytes_.size() / kWord) {}

void shared_memory::clear() {
  std::fill(bytes_.begin(), bytes_.end(), uint8_t(0xff));
  std::fill(words_.begin(), words_.end(), word());
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

} // namespace xf::rt::emulator
