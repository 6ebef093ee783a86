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
inline FactorTypes typesOf(Factor factor) {
  switch (factor) {
  case Factor::f32:
    return {"f32", "f32", "f32"};
  case Factor::bf16:
    return {"bf16", "bf16", "f32"};
  case Factor::i8:
  case Factor::i8_split:
    return {"i8", "i8", "i32"};
  case Factor::i8_weights:
    return {"f32", "i8", "f32"};
  case Factor::i16:
    return {"i16", "i16", "i32"};
  }
  return {};
}

/// A module with one product of the entry's first argument, x, and a weight in the factor's type. The other arguments are scales of x's rows
/// and of the columns, and the columns' sums, which only products of bytes use.
inline std::string factorContractText(int64_t columns, int64_t depth, Factor factor) {
  std::string n = std::to_string(columns), k = std::to_string(depth);
  FactorTypes types = typesOf(factor);
  auto rows = [](std::string width, std::string element) { return "tensor<?x" + width + "x" + element + ", #xf.dims<\"B\", \"\">>"; };
  std::string f32 = "tensor<" + n + "x" + k + "xf32>", w = "tensor<" + n + "x" + k + "x" + types.weight + ">";
  std::string scale = "tensor<" + n + "xf32>", sums = "tensor<" + n + "xi32>", one = rows("1", "f32"), y = rows(n, "f32");
  std::string more = types.weight == "i8" ? ", " + scale + ", " + sums : "";
  std::string quantized = (more.empty() ? "%q" : "%q, %s, %t") + std::string(" = xf.quantize %p : ") + f32 + " -> " + w + more + "\nxf.yield %q : ";
  std::string text = "module attributes {xf.bounds = {B = 1024 : i64}} {\nxf.parameter @p : " + f32 +
                     " path \"p\"\n"
                     "xf.weight @w : " +
                     w + " layers 1 layout panels {\n^bb0(%layer: index):\n%p = xf.param @p : " + f32 + "\n" +
                     (factor == Factor::f32 ? "xf.yield %p : " : quantized) + w +
                     "\n}\n"
                     "xf.entry @run(%x: " +
                     rows(k, types.x) + " {xf.name = \"x\"}, %s: " + one + " {xf.name = \"s\"}, %t: " + scale + " {xf.name = \"t\"}, %u: " + sums +
                     " {xf.name = \"u\"}) -> (" + y +
                     " {xf.name = \"y\"}) {\n"
                     "%w = xf.param @w : " +
                     w +
                     "\n"
                     "%y = xf.contract %x, %w extras(%s, %t, %u) maps [[0, -1], [1], [1]] : " +
                     rows(k, types.x) + ", " + w + " extras(" + one + ", " + scale + ", " + sums + ") -> " + y + " {\n^bb0(%acc: " + types.sum +
                     ", %a: f32, %b: f32, %c: i32):\n";
  if (factor == Factor::i8)
    text += "%z = arith.constant 128 : i32\n%d = arith.muli %c, %z : i32\n%e = arith.subi %acc, %d : i32\n"
            "%f = arith.sitofp %e : i32 to f32\n%g = arith.mulf %a, %b : f32\n%h = arith.mulf %f, %g : f32\nxf.yield %h : f32\n";
  else
    text += "%g = arith.mulf %a, %b : f32\n%h = arith.mulf %acc, %g : f32\nxf.yield %h : f32\n";
  return text + "}\nxf.return %y : " + y + "\n}\n}\n";
}

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
  Factors(Factor factor, std::vector<float> x, std::vector<float> weight, int64_t columns, int64_t depth)
      : x(std::move(x)), weight(std::move(weight)), sums(columns), factor(factor) {
    for (float &value : this->x) {
      if (factor == Factor::bf16)
        value = toFloat(toBF16(value));
      else if (factor == Factor::i8)
        value = std::nearbyint(value * 127);
      shorts.push_back(toBF16(value));
      bytes.push_back(static_cast<uint8_t>(factor == Factor::i8 ? value + 128 : 0));
    }
    std::vector<int8_t> weightBytes;
    std::vector<uint16_t> weightShorts;
    for (size_t i = 0; i < this->weight.size(); ++i) {
      float &value = this->weight[i];
      if (factor == Factor::bf16)
        value = toFloat(toBF16(value));
      else if (factor != Factor::f32)
        value = std::nearbyint(value * 127);
      weightShorts.push_back(toBF16(value));
      weightBytes.push_back(static_cast<int8_t>(value));
      sums[i / depth] += weightBytes.back();
    }
    packed = packPanels(this->weight, columns, depth);
    packedShorts = packGroups(weightShorts, columns, depth, 2);
    packedBytes = packGroups(weightBytes, columns, depth, 4);
  }

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
