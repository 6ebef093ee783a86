// Random numbers as functions of what they are for, the same on the host and in the GPU's code: SplitMix64's mixing function (Steele
// et al. 2014).
#ifndef XF_MIX_H
#define XF_MIX_H

#include <cstdint>

// Word has ^, *, + and >> (which brings in zeros) of 64 bits; `constant` makes one of a uint64_t.
template <typename Word, typename Constant> Word xf_mix(Word seed, Word value, Constant constant) {
  Word z = (seed ^ value * constant(0xd1342543de82ef95u)) + constant(0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * constant(0xbf58476d1ce4e5b9u);
  z = (z ^ (z >> 27)) * constant(0x94d049bb133111ebu);
  return z ^ (z >> 31);
}

// A mixed word shifted right by the first is an integer below 2^53, which the second scales to [0, 1).
inline constexpr int kXfUniformShift = 11;
inline constexpr double kXfUniformUnit = 0x1p-53;

#endif
