// Packed sentences, with tokens of no sentence between them, and values in f32 or bf16.
#ifndef XF_TEST_TARGET_CPU_SPANDATA_H
#define XF_TEST_TARGET_CPU_SPANDATA_H

#include "test/Target/CPU/FactorData.h"

namespace xf::cpu::test {

/// The spans of packed sentences of given lengths: the last sentence comes first, with kGap tokens before each sentence and after all.
struct Sentences {
  explicit Sentences(std::vector<int64_t> lengths, int64_t step = 1) : lengths(lengths), firsts(lengths.size()), step(step) {
    for (size_t b = lengths.size(); b-- > 0;) {
      firsts[b] = tokens + kGap;
      tokens = firsts[b] + lengths[b];
      longest = std::max(longest, lengths[b]);
    }
    tokens += kGap;
    spans.assign(lengths.size() * 2 * step + 1, 1 << 30);
    for (size_t b = 0; b < lengths.size(); ++b)
      spans[2 * step * b] = int32_t(firsts[b]), spans[2 * step * b + step] = int32_t(lengths[b]);
  }
  int64_t count() const { return lengths.size(); }
  xf_abi_view view() { return test::view(spans, {count(), 2}, {2 * step, step}); }
  bool hasToken(int64_t token) const {
    for (size_t b = 0; b < lengths.size(); ++b)
      if (token >= firsts[b] && token < firsts[b] + lengths[b])
        return true;
    return false;
  }

  static constexpr int64_t kGap = 2;
  std::vector<int64_t> lengths, firsts;
  int64_t step, tokens = 0, longest = 0;
  std::vector<int32_t> spans; // i32 [B, 2], with elements `step` apart
};

/// The batches that kernels are tested on.
inline std::vector<Sentences> sentenceBatches() {
  return {Sentences({17, 1, 0, 33, 15, 16}), Sentences({0, 33, 17, 0}, /*step=*/3), Sentences({1}), Sentences({0, 0}), Sentences({16, 16})};
}

/// Values in f32 or bf16, as stored in memory.
struct Elements {
  Elements(bool narrow, size_t count, float value) : narrow(narrow), shorts(narrow ? count : 0, toBF16(value)), floats(narrow ? 0 : count, value) {}
  void set(int64_t i, float value) {
    if (narrow)
      shorts[i] = toBF16(value);
    else
      floats[i] = value;
  }
  float get(int64_t i) const { return narrow ? toFloat(shorts[i]) : floats[i]; }
  void *at(int64_t i) { return narrow ? static_cast<void *>(shorts.data() + i) : floats.data() + i; }
  size_t size() const { return narrow ? shorts.size() : floats.size(); }
  /// The index of the first value whose bits differ, or -1.
  int64_t difference(const Elements &other) const {
    for (size_t i = 0; i < size(); ++i)
      if (narrow ? shorts[i] != other.shorts[i] : llvm::bit_cast<uint32_t>(floats[i]) != llvm::bit_cast<uint32_t>(other.floats[i]))
        return i;
    return -1;
  }

  bool narrow; // bf16
  std::vector<uint16_t> shorts;
  std::vector<float> floats;
};

} // namespace xf::cpu::test

#endif // XF_TEST_TARGET_CPU_SPANDATA_H
