// Arithmetic and comparisons: one loop over the lanes each.
#include "runtime/device/emulator/lanes.h"

#include <algorithm>
#include <cmath>

namespace xf::rt::emulator {

namespace {

// Zero is greater than negative zero.
template <typename T> T lesser(T x, T y) { return x == y ? (std::signbit(x) ? x : y) : canonical(std::fmin(x, y)); }
template <typename T> T greater(T x, T y) { return x == y ? (std::signbit(x) ? y : x) : canonical(std::fmax(x, y)); }

// Rounds once, for which all but old x86 machines have an instruction.
template <typename T>
__attribute__((target("avx2,fma"))) void fma_quickly(T *to, const T *a, const T *b, const T *c) {
  T result[kLanes];
  for (int lane = 0; lane < kLanes; ++lane)
    result[lane] = std::is_same_v<T, float>
                       ? static_cast<T>(__builtin_fmaf(static_cast<float>(a[lane]), static_cast<float>(b[lane]), static_cast<float>(c[lane])))
                       : static_cast<T>(__builtin_fma(a[lane], b[lane], c[lane]));
  for (int lane = 0; lane < kLanes; ++lane)
    result[lane] = canonical(result[lane]);
  std::memcpy(to, result, sizeof(result));
}

const bool kHasFma = __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2");

template <typename T> struct wider;
template <> struct wider<uint16_t> {
  using type = uint32_t;
};
template <> struct wider<int16_t> {
  using type = int32_t;
};
template <> struct wider<uint32_t> {
  using type = uint64_t;
};
template <> struct wider<int32_t> {
  using type = int64_t;
};
template <> struct wider<uint64_t> {
  using type = unsigned __int128;
};
template <> struct wider<int64_t> {
  using type = __int128;
};
template <typename T> using wider_t = typename wider<T>::type;

// `count` bits from `first` on; above them, and where `from` has no more, copies of the last bit if T is signed.
template <typename T> T field_of(std::make_unsigned_t<T> from, uint32_t first, uint32_t count) {
  using U = std::make_unsigned_t<T>;
  uint32_t width = 8 * sizeof(T);
  bool fills = false;
  if (std::is_signed_v<T> && count > 0)
    fills = from >> std::min(first + count - 1, width - 1) & 1;
  U field = 0;
  for (uint32_t n = 0; n < width; ++n) {
    bool bit = n < count && first + n < width ? from >> (first + n) & 1 : fills;
    field |= static_cast<U>(U(bit) << n);
  }
  return static_cast<T>(field);
}

} // namespace

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
    return each<R>(i, [=](int l) {
      return stored<T>(static_cast<T>(as<U>(static_cast<R>(static_cast<W>(as<T>(a[l])) * static_cast<W>(as<T>(b[l])))) + as<U>(c[l])));
    });
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
    return each<R>(
        i, [&](int l) { return divides(l) ? stored<T>(static_cast<T>(as<T>(a[l]) / as<T>(b[l]))) : stored<T>(static_cast<T>(U(0) - as<U>(a[l]))); });
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
    return each<R>(i, [=](int l) { return stored<T>(field_of<T>(as<U>(a[l]), start[l] & 0xff, length[l] & 0xff)); });
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
    return each<T>(i, [=](int l) { return canonical(a[l] + b[l]); });
  case op::sub:
    return each<T>(i, [=](int l) { return canonical(a[l] - b[l]); });
  case op::mul:
    return each<T>(i, [=](int l) { return canonical(a[l] * b[l]); });
  case op::fma:
    if (mask_ == ~0u && kHasFma)
      return fma_quickly(row<T>(i.target[0]), a, b, c);
    return each<T>(i, [=](int l) { return canonical(std::fma(a[l], b[l], c[l])); });
  case op::div:
    return each<T>(i, [=](int l) { return canonical(a[l] / b[l]); });
  case op::sqrt:
    return each<T>(i, [=](int l) { return canonical(std::sqrt(a[l])); });
  case op::rcp:
    return each<T>(i, [=](int l) { return canonical(T(1) / a[l]); });
  case op::ex2:
    return each<T>(i, [=](int l) { return static_cast<T>(std::exp2(static_cast<double>(a[l]))); });
  case op::min: // of a number and a NaN, the number
    return each<T>(i, [=](int l) { return lesser(a[l], b[l]); });
  case op::max:
    return each<T>(i, [=](int l) { return greater(a[l], b[l]); });
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

template <typename T> void warp::compare(const instruction &i) {
  using R = stored_t<T>;
  const R *a = row<R>(i.source[0]), *b = row<R>(i.source[1]);
  auto is_nan = [](T x) { return x != x; };
  auto with = [&](auto holds) { each<uint32_t>(i, [=](int l) { return static_cast<uint32_t>(holds(as<T>(a[l]), as<T>(b[l]))); }); };
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

void warp::execute_arithmetic(const instruction &i) {
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
