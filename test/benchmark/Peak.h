// What a machine can do at most: loops of nothing but multiplications and additions, and of nothing but reading.
#ifndef XF_TEST_BENCHMARK_PEAK_H
#define XF_TEST_BENCHMARK_PEAK_H

#include <cstddef>
#include <cstdint>

namespace xf::benchmark {

/// A loop to be measured, and the multiplications and additions in it.
struct Peak {
  void (*run)();
  double operations;
};

inline constexpr int64_t kPeakRounds = 300'000;
inline constexpr int kPeakChains = 12;

// Twelve chains in registers of their own. The registers are named: a compiler that spilled one would measure memory.
#define XF_CHAINS(op, name, r)                                                                                                                       \
  op(name, r, 1) op(name, r, 2) op(name, r, 3) op(name, r, 4) op(name, r, 5) op(name, r, 6) op(name, r, 7) op(name, r, 8) op(name, r, 9)             \
      op(name, r, 10) op(name, r, 11) op(name, r, 12)
#define XF_CLEAR(name, r, i) "vxorps %%ymm" #i ", %%ymm" #i ", %%ymm" #i "\n\t"
#define XF_CHAIN(name, r, i) name " %%" r "0, %%" r "0, %%" r #i "\n\t"
#define XF_PEAK_LOOP_OF(function, step, name, r)                                                                                                     \
  inline void function() {                                                                                                                           \
    int64_t rounds = kPeakRounds;                                                                                                                    \
    asm volatile("vxorps %%ymm0, %%ymm0, %%ymm0\n\t" XF_CHAINS(XF_CLEAR, name, r) "1:\n\t" XF_CHAINS(step, name, r) "dec %0\n\tjnz 1b\n\tvzeroupper" \
                 : "+r"(rounds)                                                                                                                      \
                 :                                                                                                                                   \
                 : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",         \
                   "xmm14");                                                                                                                         \
  }
#define XF_PEAK_LOOP(function, name, r) XF_PEAK_LOOP_OF(function, XF_CHAIN, name, r)

XF_PEAK_LOOP(multiplyAdd256, "vfmadd231ps", "ymm")
XF_PEAK_LOOP(multiplyAdd512, "vfmadd231ps", "zmm")
XF_PEAK_LOOP(multiplyAddBF16, "vdpbf16ps", "zmm")
XF_PEAK_LOOP(multiplyAddInt16, "vpdpwssd", "zmm")
XF_PEAK_LOOP(multiplyAddBytes, "vpdpbusd", "zmm")
XF_PEAK_LOOP(multiplyAddBytes256, "%{vex%} vpdpbusd", "ymm")

// Without VNNI 16-bit integers are multiplied in two instructions. Of bytes, two more take the place of half of the multiplications
// (compiler/Target/CPU/SplitBytes.h).
#define XF_PAIRS(name, r, i) "vpmaddwd %%ymm0, %%ymm0, %%ymm13\n\tvpaddd %%ymm13, %%ymm" #i ", %%ymm" #i "\n\t"
#define XF_SPLIT_BYTES(name, r, i)                                                                                                                   \
  "vpaddw %%ymm0, %%ymm0, %%ymm13\n\tvpaddw %%ymm0, %%ymm0, %%ymm14\n\tvpmaddwd %%ymm13, %%ymm14, %%ymm13\n\tvpaddd %%ymm13, %%ymm" #i ", %%ymm" #i  \
  "\n\t"
XF_PEAK_LOOP_OF(multiplyAddPairs256, XF_PAIRS, "", "")
XF_PEAK_LOOP_OF(multiplyAddSplitBytes256, XF_SPLIT_BYTES, "", "")

/// The operations of all chains and rounds: two for each of the products that an instruction adds up.
constexpr double operationsOf(int products) { return 2.0 * products * kPeakChains * kPeakRounds; }
inline constexpr Peak kMultiplyAdd256{multiplyAdd256, operationsOf(8)}, kMultiplyAdd512{multiplyAdd512, operationsOf(16)},
    kMultiplyAddBF16{multiplyAddBF16, operationsOf(32)}, kMultiplyAddInt16{multiplyAddInt16, operationsOf(32)},
    kMultiplyAddBytes{multiplyAddBytes, operationsOf(64)}, kMultiplyAddBytes256{multiplyAddBytes256, operationsOf(32)},
    kMultiplyAddPairs256{multiplyAddPairs256, operationsOf(16)}, kMultiplyAddSplitBytes256{multiplyAddSplitBytes256, operationsOf(32)};

/// Reads a word of each cache line of `words` words, from `Streams` streams in turn.
template <size_t Streams> uint64_t readLines(const uint64_t *memory, size_t words) {
  // Streams that are a multiple of 4096 bytes apart would share a set of the first-level cache.
  constexpr size_t kGap = 5 * 8;
  size_t part = words / Streams - Streams * kGap;
  uint64_t sum = 0, sums[Streams] = {};
  for (size_t i = 0; i < part; i += 8)
    for (size_t stream = 0; stream < Streams; ++stream)
      sums[stream] += memory[stream * (part + kGap) + i];
  for (uint64_t s : sums)
    sum += s;
  return sum;
}

} // namespace xf::benchmark

#endif // XF_TEST_BENCHMARK_PEAK_H
