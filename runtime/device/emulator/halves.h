// Numbers of 16 bits as f32, and back: rounded to the nearest, ties to even.
#ifndef RUNTIME_DEVICE_EMULATOR_HALVES_H
#define RUNTIME_DEVICE_EMULATOR_HALVES_H

#include <bit>
#include <cmath>
#include <cstdint>

namespace xf::rt::emulator {

inline float from_bf16(uint32_t bits) { return std::bit_cast<float>(bits << 16); }

inline uint32_t to_bf16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (value != value)
    return 0x7fff;
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

inline float from_f16(uint32_t bits) {
  uint32_t sign = (bits & 0x8000) << 16, exponent = bits >> 10 & 31, fraction = bits & 0x3ff;
  if (exponent == 31)
    return std::bit_cast<float>(sign | 0x7f800000 | fraction << 13);
  if (exponent == 0) { // a multiple of 2^-24
    float size = static_cast<float>(fraction) * 0x1p-24f;
    return sign ? -size : size;
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

inline uint32_t to_f16(float value) {
  uint32_t sign = std::bit_cast<uint32_t>(value) >> 16 & 0x8000;
  float size = std::fabs(value);
  if (value != value)
    return 0x7fff;
  if (size >= 65520.0f) // half a step beyond the largest
    return sign | 0x7c00;
  if (size < 0x1p-14f)
    return sign | static_cast<uint32_t>(std::nearbyint(size * 0x1p24f));
  uint32_t bits = std::bit_cast<uint32_t>(size);
  return sign | (((bits + 0xfff + (bits >> 13 & 1)) >> 13) - (112 << 10));
}

} // namespace xf::rt::emulator

#endif
