#include "runtime/device/emulator/memory.h"

#include <algorithm>
#include <bit>
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
  if (address & (bytes - 1))
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

shared_memory::shared_memory(std::vector<shared_range> variables)
    : variables_(std::move(variables)), bytes_(variables_.empty() ? 0 : (variables_.back().end + 15) / 16 * 16),
      units_(bytes_.size() >> unit_shift_) {}

void shared_memory::clear() {
  for (thread_copies &copies : copies_) {
    for (const copy &c : copies.in_flight)
      for (unit &u : units_of(c))
        u.arriving = false;
    copies.in_flight.clear();
    copies.groups = 0;
  }
  first_interval_ = ++interval_;
}

void shared_memory::check_variable(uint64_t address, uint32_t bytes, const char *verb) {
  if (address & (bytes - 1))
    raise("%s %u bytes of shared memory at %llu, which is no multiple of it", verb, bytes, static_cast<unsigned long long>(address));
  auto after = std::upper_bound(variables_.begin(), variables_.end(), address, [](uint64_t a, const shared_range &v) { return a < v.begin; });
  if (after == variables_.begin())
    raise("%s shared memory, of which the kernel has none", verb);
  const shared_range &variable = *std::prev(after);
  if (address > variable.end || bytes > variable.end - address)
    raise("%s shared memory at %lld, outside of its %llu bytes", verb, static_cast<long long>(address - variable.begin),
          static_cast<unsigned long long>(variable.end - variable.begin));
  last_ = variable;
}

// Makes units no larger than the bytes that are touched.
void shared_memory::split_units(uint32_t bytes) {
  auto shift = static_cast<uint32_t>(std::countr_zero(bytes));
  std::vector<unit> smaller(bytes_.size() >> shift);
  for (size_t u = 0; u < smaller.size(); ++u)
    smaller[u] = units_[u >> (unit_shift_ - shift)];
  units_ = std::move(smaller), unit_shift_ = shift;
}

void shared_memory::refuse(const unit &what, uint32_t thread, const char *verb) const {
  auto address = static_cast<unsigned long long>(&what - units_.data()) << unit_shift_;
  if (what.arriving)
    raise("%s shared memory at %llu, where a copy of thread %u arrives that has not been waited for", verb, address, what.writer);
  if (what.write_interval < first_interval_)
    raise("%s shared memory at %llu, which nobody has written", verb, address);
  if (what.write_interval == interval_ && what.writer != thread)
    raise("%s shared memory at %llu, which thread %u has written with no barrier between", verb, address, what.writer);
  raise("%s shared memory at %llu, which %s has read with no barrier between", verb, address,
        what.reading == reading(kMany) ? "more than one thread" : "another thread");
}

void shared_memory::read_unit(unit &u, uint32_t thread) {
  if (u.arriving || u.write_interval < first_interval_ || (u.write_interval == interval_ && u.writer != thread))
    refuse(u, thread, "reads");
  u.reading = reading(is_read(u) && u.reading != reading(thread) ? kMany : thread);
}

uint8_t *shared_memory::write(uint64_t address, uint32_t bytes, uint32_t thread) {
  for (unit &u : reach(address, bytes, "writes")) {
    if (u.arriving || (u.write_interval == interval_ && u.writer != thread) || (is_read(u) && u.reading != reading(thread)))
      refuse(u, thread, "writes");
    u.writer = static_cast<uint16_t>(thread);
    u.write_interval = interval_;
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
  thread_copies &copies = copies_of(thread);
  copies.in_flight.push_back({address, bytes, copies.groups});
  for (unit &u : units_of(copies.in_flight.back()))
    u.arriving = true;
  return to;
}

void shared_memory::close_copies(uint32_t thread) { ++copies_of(thread).groups; }

void shared_memory::await_copies(uint32_t thread, int64_t open) {
  thread_copies &copies = copies_of(thread);
  std::erase_if(copies.in_flight, [&](const copy &c) {
    if (open >= 0 && c.group + open >= copies.groups)
      return false;
    for (unit &u : units_of(c)) {
      u.arriving = false;
      u.write_interval = interval_;
    }
    return true;
  });
}

} // namespace xf::rt::emulator
