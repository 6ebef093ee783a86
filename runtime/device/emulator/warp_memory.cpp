// Loads, stores and asynchronous copies.
#include "runtime/device/emulator/warp.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace xf::rt::emulator {

void warp::load_parameter(const instruction &i) {
  int bytes = size_of(i.type);
  for (int n = 0; n < i.count; ++n) {
    const uint8_t *from = launch_.parameters + i.immediate + n * bytes;
    for (int lane = 0; lane < kLanes; ++lane)
      if (bytes == 8)
        std::memcpy(row<uint64_t>(i.target[n]) + lane, from, 8);
      else
        std::memcpy(row<uint32_t>(i.target[n]) + lane, from, 4);
  }
}

void warp::load(const instruction &i) {
  uint32_t bytes = static_cast<uint32_t>(size_of(i.type)), all = bytes * i.count;
  const uint64_t *addresses = row<uint64_t>(i.source[0]);
  for (uint32_t rest = mask_; rest; rest &= rest - 1) {
    lane_ = std::countr_zero(rest);
    uint64_t address = addresses[lane_] + static_cast<uint64_t>(i.immediate);
    const uint8_t *from;
    if (i.op == op::load_shared) {
      from = shared_->read(address, all, thread());
    } else {
      from = launch_.memory->check(address, all, "reads");
      launch_.memory->accesses.read(address, all, thread(), has_awaited());
    }
    uint8_t copy[32];
    std::memcpy(copy, from, all); // a target may be the address
    for (int n = 0; n < i.count; ++n) {
      uint64_t value = 0;
      std::memcpy(&value, copy + n * bytes, bytes);
      if (i.type == type::s8)
        value = static_cast<uint64_t>(static_cast<int8_t>(value));
      else if (i.type == type::s16)
        value = static_cast<uint64_t>(static_cast<int16_t>(value));
      else if (i.type == type::s32)
        value = static_cast<uint64_t>(static_cast<int32_t>(value));
      if (bytes == 8 || i.widens)
        row<uint64_t>(i.target[n])[lane_] = value;
      else
        row<uint32_t>(i.target[n])[lane_] = static_cast<uint32_t>(value);
    }
  }
}

void warp::store(const instruction &i) {
  uint32_t bytes = static_cast<uint32_t>(size_of(i.type)), all = bytes * i.count;
  const uint64_t *addresses = row<uint64_t>(i.target[0]);
  for (uint32_t rest = mask_; rest; rest &= rest - 1) {
    lane_ = std::countr_zero(rest);
    uint64_t address = addresses[lane_] + static_cast<uint64_t>(i.immediate);
    uint8_t *to;
    if (i.op == op::store_shared) {
      to = shared_->write(address, all, thread());
    } else {
      to = launch_.memory->check(address, all, "writes");
      if (!has_awaited())
        fail_lane(lane_, "writes memory before it has waited for the launches before");
      launch_.memory->accesses.write(address, all, thread());
    }
    for (int n = 0; n < i.count; ++n) {
      uint64_t value = bytes == 8 || i.narrows >> n & 1 ? row<uint64_t>(i.source[n])[lane_] : row<uint32_t>(i.source[n])[lane_];
      std::memcpy(to + n * bytes, &value, bytes);
    }
  }
}

// The data is there at once, but nobody may look at it before it has been waited for.
void warp::start_copy(const instruction &i) {
  const uint64_t *targets = row<uint64_t>(i.target[0]), *sources = row<uint64_t>(i.source[0]);
  const uint32_t *counts = i.source[1] >= 0 ? row<uint32_t>(i.source[1]) : nullptr;
  for (uint32_t rest = mask_; rest; rest &= rest - 1) {
    lane_ = std::countr_zero(rest);
    uint64_t from = sources[lane_] + static_cast<uint64_t>(i.source_offset);
    uint32_t bytes = i.count, read = counts ? counts[lane_] : bytes;
    if (read > bytes)
      fail_lane(lane_, "copies more bytes than it has room for");
    if (from % bytes != 0)
      fail_lane(lane_, "copies from an address that is no multiple of the copy's size");
    const uint8_t *source = launch_.memory->check_range(from, read, "copies");
    launch_.memory->accesses.read(from, read, thread(), has_awaited());
    uint8_t *to = shared_->start_copy(targets[lane_] + static_cast<uint64_t>(i.immediate), bytes, thread());
    std::copy_n(source, read, to);
    std::memset(to + read, 0, bytes - read);
  }
}

} // namespace xf::rt::emulator
