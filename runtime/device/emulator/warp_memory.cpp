// Loads, stores and asynchronous copies.
#include "runtime/device/emulator/lanes.h"

#include <algorithm>

namespace xf::rt::emulator {

// Loads what lies at `from` into the targets; signed numbers are extended to the whole register.
template <typename T> void warp::load_lanes(const instruction &i, const uint8_t *const *from) {
  auto fill = [&]<typename R>(int n, R *to) {
    for_lanes(mask_, [&](int lane) {
      T value;
      std::memcpy(&value, from[lane] + n * sizeof(T), sizeof(T));
      to[lane] = static_cast<R>(value);
    });
  };
  for (int n = 0; n < i.count; ++n)
    if (sizeof(T) == 8 || i.widens)
      fill(n, row<uint64_t>(i.target[n]));
    else
      fill(n, row<uint32_t>(i.target[n]));
}

// Where each lane reads.
void warp::find_sources(const instruction &i, const uint8_t **from) {
  auto all = static_cast<uint32_t>(size_of(i.type) * i.count);
  const uint64_t *addresses = row<uint64_t>(i.source[0]);
  for_lanes(mask_, [&](int lane) {
    lane_ = lane;
    uint64_t address = addresses[lane] + static_cast<uint64_t>(i.immediate);
    if (i.op == op::load_shared) {
      from[lane] = shared_->read(address, all, thread());
    } else {
      from[lane] = launch_.memory->check(address, all, "reads");
      launch_.memory->accesses.read(address, all, thread(), has_awaited());
    }
  });
}

void warp::load(const instruction &i) {
  const uint8_t *from[kLanes]; // of all lanes before a target is written, which may be the address
  if (i.op == op::load_param)
    std::fill_n(from, kLanes, launch_.parameters + i.immediate);
  else
    find_sources(i, from);
  switch (i.type) {
  case type::s8:
    return load_lanes<int8_t>(i, from);
  case type::s16:
    return load_lanes<int16_t>(i, from);
  case type::s32:
    return load_lanes<int32_t>(i, from);
  default:
    switch (size_of(i.type)) {
    case 1:
      return load_lanes<uint8_t>(i, from);
    case 2:
      return load_lanes<uint16_t>(i, from);
    case 4:
      return load_lanes<uint32_t>(i, from);
    default:
      return load_lanes<uint64_t>(i, from);
    }
  }
}

void warp::store(const instruction &i) {
  uint32_t bytes = static_cast<uint32_t>(size_of(i.type)), all = bytes * i.count;
  const uint64_t *addresses = row<uint64_t>(i.target[0]);
  for_lanes(mask_, [&](int lane) {
    lane_ = lane;
    uint64_t address = addresses[lane] + static_cast<uint64_t>(i.immediate);
    uint8_t *to;
    if (i.op == op::store_shared) {
      to = shared_->write(address, all, thread());
    } else {
      to = launch_.memory->check(address, all, "writes");
      if (!has_awaited())
        fail_lane(lane, "writes memory before it has waited for the launches before");
      launch_.memory->accesses.write(address, all, thread());
    }
    for (int n = 0; n < i.count; ++n) {
      uint64_t value = bytes == 8 || i.narrows >> n & 1 ? row<uint64_t>(i.source[n])[lane] : row<uint32_t>(i.source[n])[lane];
      std::memcpy(to + n * bytes, &value, bytes);
    }
  });
}

// The data is there at once, but nobody may look at it before it has been waited for.
void warp::start_copy(const instruction &i) {
  const uint64_t *targets = row<uint64_t>(i.target[0]), *sources = row<uint64_t>(i.source[0]);
  const uint32_t *counts = i.source[1] >= 0 ? row<uint32_t>(i.source[1]) : nullptr;
  for_lanes(mask_, [&](int lane) {
    lane_ = lane;
    uint64_t from = sources[lane] + static_cast<uint64_t>(i.source_offset);
    uint32_t bytes = i.count, read = counts ? counts[lane] : bytes;
    if (read > bytes)
      fail_lane(lane, "copies more bytes than it has room for");
    if (from & (bytes - 1))
      fail_lane(lane, "copies from an address that is no multiple of the copy's size");
    const uint8_t *source = launch_.memory->check_range(from, read, "copies");
    launch_.memory->accesses.read(from, read, thread(), has_awaited());
    uint8_t *to = shared_->start_copy(targets[lane] + static_cast<uint64_t>(i.immediate), bytes, thread());
    std::copy_n(source, read, to);
    std::memset(to + read, 0, bytes - read);
  });
}

} // namespace xf::rt::emulator
