// Instructions that move and rearrange bits.
#include "runtime/device/emulator/lanes.h"

#include <algorithm>
#include <bit>

namespace xf::rt::emulator {

template <typename T> void warp::bits(const instruction &i) {
  const T *a = row<T>(i.source[0]), *b = row<T>(std::max(i.source[1], 0));
  const uint32_t *n = row<uint32_t>(std::max(i.source[1], 0));
  switch (i.op) {
  case op::mov:
    return each<T>(i, [=](int l) { return a[l]; });
  case op::band:
    return each<T>(i, [=](int l) { return a[l] & b[l]; });
  case op::bor:
    return each<T>(i, [=](int l) { return a[l] | b[l]; });
  case op::bxor:
    return each<T>(i, [=](int l) { return a[l] ^ b[l]; });
  case op::bnot:
    return each<T>(i, [=](int l) { return static_cast<T>(~a[l]); });
  case op::shl:
    return each<T>(i, [=](int l) { return n[l] < 8 * sizeof(T) ? a[l] << n[l] : T(0); });
  case op::count_ones:
    return each<uint32_t>(i, [=](int l) { return static_cast<uint32_t>(std::popcount(a[l])); });
  case op::leading_zeros:
    return each<uint32_t>(i, [=](int l) { return static_cast<uint32_t>(std::countl_zero(a[l])); });
  case op::insert_bits: {
    const uint32_t *start = row<uint32_t>(i.source[2]), *length = row<uint32_t>(i.source[3]);
    return each<T>(i, [=](int l) {
      uint32_t first = start[l] & 0xff, count = length[l] & 0xff, width = 8 * sizeof(T);
      T ones = count >= width ? static_cast<T>(~T(0)) : static_cast<T>((T(1) << count) - 1);
      T field = first >= width ? T(0) : static_cast<T>(ones << first);
      T value = first >= width ? T(0) : static_cast<T>(a[l] << first);
      return static_cast<T>((b[l] & ~field) | (value & field));
    });
  }
  default:
    fail_lane(0, "has an instruction that the emulator lacks");
  }
}

template <typename T> void warp::select(const instruction &i) {
  const T *a = row<T>(i.source[0]), *b = row<T>(i.source[1]);
  const uint32_t *condition = row<uint32_t>(i.source[2]);
  each<T>(i, [=](int l) { return condition[l] ? a[l] : b[l]; });
}

void warp::permute(const instruction &i) {
  const uint32_t *a = row<uint32_t>(i.source[0]), *b = row<uint32_t>(i.source[1]), *selector = row<uint32_t>(i.source[2]);
  each<uint32_t>(i, [=](int l) {
    uint64_t both = static_cast<uint64_t>(b[l]) << 32 | a[l];
    uint32_t result = 0;
    for (int n = 0; n < 4; ++n) {
      uint32_t choice = selector[l] >> 4 * n & 15;
      uint32_t byte = both >> 8 * (choice & 7) & 0xff;
      if (choice & 8)
        byte = byte & 0x80 ? 0xff : 0;
      result |= byte << 8 * n;
    }
    return result;
  });
}

void warp::logic(const instruction &i) {
  const uint32_t *a = row<uint32_t>(i.source[0]), *b = row<uint32_t>(i.source[1]), *c = row<uint32_t>(i.source[2]);
  each<uint32_t>(i, [=, table = i.immediate](int l) {
    uint32_t result = 0;
    for (int n = 0; n < 8; ++n)
      if (table >> n & 1)
        result |= (n & 4 ? a[l] : ~a[l]) & (n & 2 ? b[l] : ~b[l]) & (n & 1 ? c[l] : ~c[l]);
    return result;
  });
}

void warp::execute_moves(const instruction &i) {
  bool wide = size_of(i.type) == 8;
  switch (i.op) {
  case op::pack: {
    const uint32_t *low = row<uint32_t>(i.source[0]), *high = row<uint32_t>(i.source[1]);
    if (wide)
      return each<uint64_t>(i, [=](int l) { return static_cast<uint64_t>(high[l]) << 32 | low[l]; });
    return each<uint32_t>(i, [=](int l) { return high[l] << 16 | (low[l] & 0xffff); });
  }
  case op::unpack:
    for (int n = 0; n < 2; ++n) {
      instruction half = i;
      half.target[0] = i.target[n];
      if (i.target[n] < 0)
        continue;
      if (wide)
        each<uint32_t>(half, [=, a = row<uint64_t>(i.source[0])](int l) { return static_cast<uint32_t>(a[l] >> 32 * n); });
      else
        each<uint32_t>(half, [=, a = row<uint32_t>(i.source[0])](int l) { return a[l] >> 16 * n & 0xffff; });
    }
    return;
  case op::select:
    return wide ? select<uint64_t>(i) : select<uint32_t>(i);
  case op::funnel_left:
  case op::funnel_right: {
    const uint32_t *a = row<uint32_t>(i.source[0]), *b = row<uint32_t>(i.source[1]), *n = row<uint32_t>(i.source[2]);
    bool left = i.op == op::funnel_left;
    return each<uint32_t>(i, [=](int l) {
      uint64_t both = static_cast<uint64_t>(b[l]) << 32 | a[l];
      uint32_t by = n[l] & 31;
      return static_cast<uint32_t>(left ? (both << by) >> 32 : both >> by);
    });
  }
  case op::bnot:
    if (i.type == type::pred) // predicates are 0 or 1
      return each<uint32_t>(i, [=, a = row<uint32_t>(i.source[0])](int l) { return a[l] ^ 1; });
    [[fallthrough]];
  default:
    return wide ? bits<uint64_t>(i) : bits<uint32_t>(i);
  }
}

} // namespace xf::rt::emulator
