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
  accesses.forget(begin, bytes);
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

shared_memory::shared_memory(std::vector<shared_place> variables)
    : variables_(std::move(variables)), bytes_(variables_.empty() ? 0 : (variables_.back().end + 15) / 16 * 16), units_(bytes_.size() / unit_bytes_) {}

void shared_memory::clear() {
  std::fill(bytes_.begin(), bytes_.end(), uint8_t(0xff));
  std::fill(units_.begin(), units_.end(), unit());
  copies_.clear();
  interval_ = 1;
}

void shared_memory::check(uint64_t address, uint32_t bytes, const char *verb) const {
  if (address % bytes != 0)
    raise("%s %u bytes of shared memory at %llu, which is no multiple of it", verb, bytes,
          static_cast<unsigned long long>(address));
  auto after = std::upper_bound(variables_.begin(), variables_.end(), address, [](uint64_t a, const shared_place &v) { return a < v.begin; });
  if (after == variables_.begin())
    raise("%s shared memory, of which the kernel has none", verb);
  const shared_place &own = *std::prev(after);
  if (address > own.end || bytes > own.end - address)
    raise("%s shared memory at %lld, outside of its %llu bytes", verb, static_cast<long long>(address - own.begin),
          static_cast<unsigned long long>(own.end - own.begin));
}

// Units are no larger than what is touched.
void shared_memory::keep_apart(uint32_t bytes) {
  if (bytes >= unit_bytes_)
    return;
  std::vector<unit> smaller(bytes_.size() / bytes);
  for (size_t u = 0; u < smaller.size(); ++u)
    smaller[u] = units_[u * bytes / unit_bytes_];
  units_ = std::move(smaller), unit_bytes_ = bytes;
}

uint8_t *shared_memory::read(uint64_t address, uint32_t bytes, uint32_t thread) {
  check(address, bytes, "reads");
  keep_apart(bytes);
  for (uint64_t u = address / unit_bytes_; u <= (address + bytes - 1) / unit_bytes_; ++u) {
    unit &state = units_[u];
    if (state.arriving)
      raise("reads shared memory at %llu, where a copy of thread %u arrives that has not been waited for",
            static_cast<unsigned long long>(u * unit_bytes_), state.writer);
    if (state.write_interval == 0)
      raise("reads shared memory at %llu, which nobody has written", static_cast<unsigned long long>(u * unit_bytes_));
    if (state.write_interval == interval_ && state.writer != thread)
      raise("reads shared memory at %llu, which thread %u has written with no barrier between",
            static_cast<unsigned long long>(u * unit_bytes_), state.writer);
    state.reader = state.read_interval == interval_ && state.reader != thread ? kMany : thread;
    state.read_interval = interval_;
  }
  return bytes_.data() + address;
}

uint8_t *shared_memory::write(uint64_t address, uint32_t bytes, uint32_t thread) {
  check(address, bytes, "writes");
  keep_apart(bytes);
  for (uint64_t u = address / unit_bytes_; u <= (address + bytes - 1) / unit_bytes_; ++u) {
    unit &state = units_[u];
    if (state.arriving)
      raise("writes shared memory at %llu, where a copy of thread %u arrives that has not been waited for",
            static_cast<unsigned long long>(u * unit_bytes_), state.writer);
    if (state.write_interval == interval_ && state.writer != thread)
      raise("writes shared memory at %llu, which thread %u has written with no barrier between",
            static_cast<unsigned long long>(u * unit_bytes_), state.writer);
    if (state.read_interval == interval_ && state.reader != thread)
      raise("writes shared memory at %llu, which %s has read with no barrier between",
            static_cast<unsigned long long>(u * unit_bytes_), state.reader == kMany ? "more than one thread" : "another thread");
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
  for (uint64_t u = address / unit_bytes_; u < (address + bytes) / unit_bytes_; ++u)
    units_[u].arriving = true;
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
    for (uint64_t u = c.address / unit_bytes_; u < (c.address + c.bytes) / unit_bytes_; ++u) {
      units_[u].arriving = false;
      units_[u].write_interval = interval_;
    }
    return true;
  });
}

} // namespace xf::rt::emulator
