// Conversions between types.
#include "runtime/device/emulator/halves.h"
#include "runtime/device/emulator/lanes.h"

#include <cmath>
#include <limits>

namespace xf::rt::emulator {

template <typename From, typename To> void warp::convert_to(const instruction &i) {
  const stored_t<From> *a = row<stored_t<From>>(i.source[0]);
  const uint64_t *wider = i.narrows ? row<uint64_t>(i.source[0]) : nullptr;
  auto how = static_cast<rounding>(i.mode);
  auto rounded = [how](auto x) {
    switch (how) {
    case rounding::nearest:
      return std::nearbyint(x);
    case rounding::zero:
      return std::trunc(x);
    case rounding::down:
      return std::floor(x);
    default:
      return std::ceil(x);
    }
  };
  bool changes_type = sizeof(From) != sizeof(To);
  each<stored_t<To>>(i, [=](int l) {
    From x = as<From>(wider ? static_cast<stored_t<From>>(wider[l]) : a[l]);
    if constexpr (std::is_floating_point_v<From> && std::is_floating_point_v<To>) {
      return stored<To>(how == rounding::none || changes_type ? static_cast<To>(x) : static_cast<To>(rounded(x)));
    } else if constexpr (std::is_floating_point_v<From>) {
      // Out of range: the nearest value; NaN: 0, but the highest bit where either type has 64 bits.
      auto whole = rounded(x);
      constexpr To kLowest = std::numeric_limits<To>::lowest(), kHighest = std::numeric_limits<To>::max();
      if (whole != whole)
        return stored<To>(sizeof(From) == 8 || sizeof(To) == 8 ? static_cast<To>(uint64_t(1) << (8 * sizeof(To) - 1)) : To(0));
      if (whole <= static_cast<From>(kLowest))
        return stored<To>(kLowest);
      return stored<To>(whole >= static_cast<From>(kHighest) ? kHighest : static_cast<To>(whole));
    } else {
      return stored<To>(static_cast<To>(x));
    }
  });
}

template <typename From> void warp::convert_from(const instruction &i) {
  switch (i.type) {
  case type::u8:
  case type::b8:
    return convert_to<From, uint8_t>(i);
  case type::s8:
    return convert_to<From, int8_t>(i);
  case type::u16:
  case type::b16:
    return convert_to<From, uint16_t>(i);
  case type::s16:
    return convert_to<From, int16_t>(i);
  case type::u32:
  case type::b32:
  case type::pred:
    return convert_to<From, uint32_t>(i);
  case type::s32:
    return convert_to<From, int32_t>(i);
  case type::u64:
  case type::b64:
    return convert_to<From, uint64_t>(i);
  case type::s64:
    return convert_to<From, int64_t>(i);
  case type::f32:
    return convert_to<From, float>(i);
  case type::f64:
    return convert_to<From, double>(i);
  case type::bf16:
  case type::f16:
    return; // narrow()
  }
}

void warp::narrow(const instruction &i) {
  auto narrowed = i.type == type::bf16 ? to_bf16 : to_f16;
  each<uint32_t>(i, [=, a = row<float>(i.source[0])](int l) { return narrowed(a[l]); });
}

void warp::widen(const instruction &i) {
  each<float>(i, [=, a = row<uint32_t>(i.source[0])](int l) { return from_f16(a[l] & 0xffff); });
}

void warp::convert_pair(const instruction &i) {
  auto narrowed = i.type == type::bf16 ? to_bf16 : to_f16;
  each<uint32_t>(
      i, [=, upper = row<float>(i.source[0]), lower = row<float>(i.source[1])](int l) { return narrowed(upper[l]) << 16 | narrowed(lower[l]); });
}

void warp::convert(const instruction &i) {
  if (i.type == type::bf16 || i.type == type::f16)
    return narrow(i);
  switch (i.from) {
  case type::f16:
    return widen(i);
  case type::bf16:
    return; // there is no such conversion
  case type::u8:
  case type::b8:
    return convert_from<uint8_t>(i);
  case type::s8:
    return convert_from<int8_t>(i);
  case type::u16:
  case type::b16:
    return convert_from<uint16_t>(i);
  case type::s16:
    return convert_from<int16_t>(i);
  case type::u32:
  case type::b32:
  case type::pred:
    return convert_from<uint32_t>(i);
  case type::s32:
    return convert_from<int32_t>(i);
  case type::u64:
  case type::b64:
    return convert_from<uint64_t>(i);
  case type::s64:
    return convert_from<int64_t>(i);
  case type::f32:
    return convert_from<float>(i);
  case type::f64:
    return convert_from<double>(i);
  }
}

} // namespace xf::rt::emulator
