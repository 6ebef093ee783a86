// The instructions that compute: one loop over the lanes each.
#include "runtime/device/emulator/warp.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

namespace xf::rt::emulator {

namespace {

// One rounding, which x86 has an instruction for on all machines but old ones.
template <typename T>
__attribute__((target("avx2,fma"))) void fma_quickly(T *to, const T *a, const T *b, const T *c) {
  T result[kLanes];
  for (int lane = 0; lane < kLanes; ++lane)
    result[lane] = std::is_same_v<T, float> ? static_cast<T>(__builtin_fmaf(static_cast<float>(a[lane]), static_cast<float>(b[lane]), static_cast<float>(c[lane])))
                                            : static_cast<T>(__builtin_fma(a[lane], b[lane], c[lane]));
  std::memcpy(to, result, sizeof(result));
}

const bool kHasFma = __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2");

template <typename T> struct wider;
template <> struct wider<uint16_t> { using type = uint32_t; };
template <> struct wider<int16_t> { using type = int32_t; };
template <> struct wider<uint32_t> { using type = uint64_t; };
template <> struct wider<int32_t> { using type = int64_t; };
template <> struct wider<uint64_t> { using type = unsigned __int128; };
template <> struct wider<int64_t> { using type = __int128; };
template <typename T> using wider_t = typename wider<T>::type;

// A register of fewer than 32 bits lies in 32.
template <typename T> using stored_t = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <typename T> T as(stored_t<T> bits) {
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}
template <typename T> stored_t<T> stored(T value) {
  if constexpr (std::is_floating_point_v<T>)
    return std::bit_cast<stored_t<T>>(value);
  else
    return static_cast<stored_t<T>>(value);
}

} // namespace

// `f` gives lane's result as it is stored.
template <typename R, typename F> void warp::each(const instruction &i, F f) {
  R *to = row<R>(i.target[0]);
  if (mask_ == ~0u) {
    R results[kLanes];
    for (int lane = 0; lane < kLanes; ++lane)
      results[lane] = f(lane);
    std::memcpy(to, results, sizeof(results));
  } else {
    for (uint32_t rest = mask_; rest; rest &= rest - 1)
      to[std::countr_zero(rest)] = f(std::countr_zero(rest));
  }
}

template <typename T> void warp::integer(const instruction &i) {
  using R = stored_t<T>;
  using U = std::make_unsigned_t<T>;
  using W = wider_t<T>;
  const R *a = row<R>(i.source[0]), *b = row<R>(std::max(i.source[1], 0)), *c = row<R>(std::max(i.source[2], 0));
  auto divides = [&](int lane) {
    if (as<T>(b[lane]) == 0)
      fail_lane(lane, "divides by zero");
    return !(std::is_signed_v<T> && as<T>(b[lane]) == T(-1)); // whose quotient may overflow
  };
  switch (i.op) {
  case op::add:
    return each<R>(i, [=](int l) { return stored<T>(static_cast<T>(as<U>(a[l]) + as<U>(b[l]))); });
  case op::sub:
    return each<R>(i, [=](int l) { return stored<T>(static_cast<T>(as<U>(a[l]) - as<U>(b[l]))); });
  case op::mul:
    return each<R>(i, [=](int l) { return stored<T>(static_cast<T>(static_cast<W>(as<T>(a[l])) * static_cast<W>(as<T>(b[l])))); });
  case op::mul_hi:
    return each<R>(i, [=](int l) { return stored<T>(static_cast<T>((static_cast<W>(as<T>(a[l])) * static_cast<W>(as<T>(b[l]))) >> 8 * sizeof(T))); });
  case op::mad:
    return each<R>(i, [=](int l) { return stored<T>(static_cast<T>(as<U>(static_cast<R>(static_cast<W>(as<T>(a[l])) * static_cast<W>(as<T>(b[l])))) + as<U>(c[l]))); });
  case op::mul_wide:
  case op::mad_wide:
    if constexpr (sizeof(T) <= 4) {
      using V = stored_t<W>;
      const V *sum = row<V>(std::max(i.source[2], 0));
      bool adds = i.op == op::mad_wide;
      return each<V>(i, [=](int l) {
        V product = static_cast<V>(static_cast<W>(as<T>(a[l])) * static_cast<W>(as<T>(b[l])));
        return adds ? static_cast<V>(product + sum[l]) : product;
      });
    }
    break;
  case op::div:
    return each<R>(i, [&](int l) { return divides(l) ? stored<T>(static_cast<T>(as<T>(a[l]) / as<T>(b[l]))) : stored<T>(static_cast<T>(U(0) - as<U>(a[l]))); });
  case op::rem:
    return each<R>(i, [&](int l) { return divides(l) ? stored<T>(static_cast<T>(as<T>(a[l]) % as<T>(b[l]))) : R(0); });
  case op::min:
    return each<R>(i, [=](int l) { return as<T>(a[l]) < as<T>(b[l]) ? a[l] : b[l]; });
  case op::max:
    return each<R>(i, [=](int l) { return as<T>(a[l]) > as<T>(b[l]) ? a[l] : b[l]; });
  case op::abs:
    return each<R>(i, [=](int l) { return as<T>(a[l]) < T(0) ? stored<T>(static_cast<T>(U(0) - as<U>(a[l]))) : a[l]; });
  case op::neg:
    return each<R>(i, [=](int l) { return stored<T>(static_cast<T>(U(0) - as<U>(a[l]))); });
  case op::shr:
    return each<R>(i, [=, n = row<uint32_t>(i.source[1])](int l) {
      uint32_t by = n[l], most = 8 * sizeof(T) - 1;
      if (by > most)
        return std::is_signed_v<T> ? stored<T>(static_cast<T>(as<T>(a[l]) >> most)) : R(0);
      return stored<T>(static_cast<T>(as<T>(a[l]) >> by));
    });
  case op::extract_bits: {
    const uint32_t *start = row<uint32_t>(i.source[1]), *length = row<uint32_t>(i.source[2]);
    return each<R>(i, [=](int l) {
      uint32_t first = start[l] & 0xff, count = length[l] & 0xff, width = 8 * sizeof(T);
      U result = 0;
      bool fills = false;
      if (std::is_signed_v<T> && count > 0)
        fills = as<U>(a[l]) >> std::min(first + count - 1, width - 1) & 1;
      for (uint32_t n = 0; n < width; ++n) {
        bool bit = n < count && first + n < width ? as<U>(a[l]) >> (first + n) & 1 : fills;
        result |= static_cast<U>(U(bit) << n);
      }
      return stored<T>(static_cast<T>(result));
    });
  }
  default:
    break;
  }
  fail_lane(0, "has an instruction that the emulator lacks");
}

template <typename T> void warp::floating(const instruction &i) {
  using R = stored_t<T>;
  const T *a = row<T>(i.source[0]), *b = row<T>(std::max(i.source[1], 0)), *c = row<T>(std::max(i.source[2], 0));
  switch (i.op) {
  case op::add:
    return each<T>(i, [=](int l) { return a[l] + b[l]; });
  case op::sub:
    return each<T>(i, [=](int l) { return a[l] - b[l]; });
  case op::mul:
    return each<T>(i, [=](int l) { return a[l] * b[l]; });
  case op::fma:
    if (mask_ == ~0u && kHasFma)
      return fma_quickly(row<T>(i.target[0]), a, b, c);
    return each<T>(i, [=](int l) { return std::fma(a[l], b[l], c[l]); });
  case op::div:
    return each<T>(i, [=](int l) { return a[l] / b[l]; });
  case op::sqrt:
    return each<T>(i, [=](int l) { return std::sqrt(a[l]); });
  case op::rcp:
    return each<T>(i, [=](int l) { return T(1) / a[l]; });
  case op::ex2:
    return each<T>(i, [=](int l) { return static_cast<T>(std::exp2(static_cast<double>(a[l]))); });
  case op::min: // of a number and a NaN, the number
    return each<T>(i, [=](int l) { return std::fmin(a[l], b[l]); });
  case op::max:
    return each<T>(i, [=](int l) { return std::fmax(a[l], b[l]); });
  case op::abs:
    return each<T>(i, [=](int l) { return std::fabs(a[l]); });
  case op::neg:
    return each<R>(i, [=](int l) { return static_cast<R>(std::bit_cast<R>(a[l]) ^ R(1) << (8 * sizeof(T) - 1)); });
  case op::copysign: // the first source's sign
    return each<T>(i, [=](int l) { return std::copysign(b[l], a[l]); });
  default:
    fail_lane(0, "has an instruction that the emulator lacks");
  }
}

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

template <typename T> void warp::compare(const instruction &i) {
  using R = stored_t<T>;
  const R *a = row<R>(i.source[0]), *b = row<R>(i.source[1]);
  auto is_nan = [](T x) { return x != x; };
  auto with = [&](auto holds) {
    each<uint32_t>(i, [=](int l) { return static_cast<uint32_t>(holds(as<T>(a[l]), as<T>(b[l]))); });
  };
  switch (static_cast<comparison>(i.mode)) {
  case comparison::eq:
    return with([](T x, T y) { return x == y; });
  case comparison::ne: // ordered: false for NaN
    return with([=](T x, T y) { return x != y && !is_nan(x) && !is_nan(y); });
  case comparison::lt:
    return with([](T x, T y) { return x < y; });
  case comparison::le:
    return with([](T x, T y) { return x <= y; });
  case comparison::gt:
    return with([](T x, T y) { return x > y; });
  case comparison::ge:
    return with([](T x, T y) { return x >= y; });
  case comparison::equ:
    return with([=](T x, T y) { return x == y || is_nan(x) || is_nan(y); });
  case comparison::neu:
    return with([](T x, T y) { return x != y; });
  case comparison::ltu:
    return with([](T x, T y) { return !(x >= y); });
  case comparison::leu:
    return with([](T x, T y) { return !(x > y); });
  case comparison::gtu:
    return with([](T x, T y) { return !(x <= y); });
  case comparison::geu:
    return with([](T x, T y) { return !(x < y); });
  case comparison::num:
    return with([=](T x, T y) { return !is_nan(x) && !is_nan(y); });
  case comparison::nan:
    return with([=](T x, T y) { return is_nan(x) || is_nan(y); });
  }
}

template <typename T> void warp::select(const instruction &i) {
  const T *a = row<T>(i.source[0]), *b = row<T>(i.source[1]);
  const uint32_t *condition = row<uint32_t>(i.source[2]);
  each<T>(i, [=](int l) { return condition[l] ? a[l] : b[l]; });
}

template <typename From, typename To> void warp::convert_to(const instruction &i) {
  const stored_t<From> *a = row<stored_t<From>>(i.source[0]);
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
    From x = as<From>(a[l]);
    if constexpr (std::is_floating_point_v<From> && std::is_floating_point_v<To>) {
      return stored<To>(how == rounding::none || changes_type ? static_cast<To>(x) : static_cast<To>(rounded(x)));
    } else if constexpr (std::is_floating_point_v<From>) {
      // Out of range: the nearest there is; NaN: 0.
      auto whole = rounded(x);
      constexpr To kLowest = std::numeric_limits<To>::lowest(), kHighest = std::numeric_limits<To>::max();
      if (whole != whole)
        return stored<To>(To(0));
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
  }
}

void warp::convert(const instruction &i) {
  switch (i.from) {
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

void warp::execute(const instruction &i) {
  switch (i.op) {
  case op::load_param:
    return load_parameter(i);
  case op::load_global:
  case op::load_shared:
    return load(i);
  case op::store_global:
  case op::store_shared:
    return store(i);
  case op::shuffle:
    return shuffle(i);
  case op::convert:
    return convert(i);
  case op::permute:
    return permute(i);
  case op::logic:
    return logic(i);
  case op::mov:
  case op::pack:
  case op::unpack:
  case op::select:
  case op::band:
  case op::bor:
  case op::bxor:
  case op::bnot:
  case op::shl:
  case op::funnel_left:
  case op::funnel_right:
  case op::insert_bits:
  case op::count_ones:
  case op::leading_zeros:
    return execute_moves(i);
  default:
    break;
  }
  auto dispatch = [&](auto zero) {
    using T = decltype(zero);
    if (i.op == op::compare)
      return compare<T>(i);
    if constexpr (std::is_floating_point_v<T>)
      return floating<T>(i);
    else
      return integer<T>(i);
  };
  switch (i.type) {
  case type::f32:
    return dispatch(float(0));
  case type::f64:
    return dispatch(double(0));
  case type::s32:
    return dispatch(int32_t(0));
  case type::u32:
  case type::b32:
    return dispatch(uint32_t(0));
  case type::s64:
    return dispatch(int64_t(0));
  case type::u64:
  case type::b64:
    return dispatch(uint64_t(0));
  case type::s16:
    return dispatch(int16_t(0));
  case type::u16:
  case type::b16:
    return dispatch(uint16_t(0));
  default:
    fail_lane(0, "computes with values of 8 bits");
  }
}

} // namespace xf::rt::emulator
