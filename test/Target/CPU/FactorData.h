// The factors of products of each type, made of random values, and modules that multiply them.
#ifndef XF_TEST_TARGET_CPU_FACTORDATA_H
#define XF_TEST_TARGET_CPU_FACTORDATA_H

#include "compiler/Target/CPU/Tiles.h"
#include "test/Target/CPU/KernelHarness.h"

#include "llvm/ADT/bit.h"

namespace xf::cpu::test {

struct FactorTypes {
  std::string x, weight, sum;
};
FactorTypes typesOf(Factor factor);

/// A module with one product of the entry's first argument, x, and a weight in the factor's type. The other arguments are scales of x's rows
/// and of the columns, and the columns' sums, which only products of bytes use.
std::string factorContractText(int64_t columns, int64_t depth, Factor factor);

/// [ceil(N/16)][ceil(K/g)][16][g]
template <typename T>
std::vector<T> packGroups(const std::vector<T> &weight, int64_t columns, int64_t depth, int64_t group) {
  int64_t groups = (depth + group - 1) / group;
  std::vector<T> packed((columns + 15) / 16 * groups * group * 16);
  for (int64_t n = 0; n < columns; ++n)
    for (int64_t k = 0; k < depth; ++k)
      packed[((n / 16 * groups + k / group) * 16 + n % 16) * group + k % group] = weight[n * depth + k];
  return packed;
}

inline uint16_t toBF16(float value) {
  uint32_t bits = llvm::bit_cast<uint32_t>(value);
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
inline float toFloat(uint16_t bits) { return llvm::bit_cast<float>(uint32_t(bits) << 16); }

/// Factors as stored in memory, and their values as floats. Bytes have integer values; those of x are stored with 128 added.
class Factors {
public:
  /// x [rows, depth] and weight [columns, depth] have values between -1 and 1.
  Factors(Factor factor, std::vector<float> x, std::vector<float> weight, int64_t columns, int64_t depth);

  /// The address of x's element `i`.
  void *xAt(int64_t i) {
    if (factor == Factor::bf16)
      return shorts.data() + i;
    return factor == Factor::i8 ? static_cast<void *>(bytes.data() + i) : x.data() + i;
  }
  void *panels() {
    if (factor == Factor::f32)
      return packed.data();
    return factor == Factor::bf16 ? static_cast<void *>(packedShorts.data()) : packedBytes.data();
  }

  std::vector<float> x, weight;
  std::vector<int32_t> sums; // of the weight's rows, if they are bytes

private:
  Factor factor;
  std::vector<float> packed;
  std::vector<uint16_t> shorts, packedShorts;
  std::vector<uint8_t> bytes;
  std::vector<int8_t> packedBytes;
};

} // namespace xf::cpu::test

#endif // XF_TEST_TARGET_CPU_FACTORDATA_H
