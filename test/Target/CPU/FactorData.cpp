#include "test/Target/CPU/FactorData.h"

using namespace xf::cpu;
using namespace xf::cpu::test;

FactorTypes xf::cpu::test::typesOf(Factor factor) {
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

std::string xf::cpu::test::factorContractText(int64_t columns, int64_t depth, Factor factor) {
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

Factors::Factors(Factor factor, std::vector<float> x, std::vector<float> weight, int64_t columns, int64_t depth)
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
