// Modules that spread or store sentences as keys or values, and what they read and write.
#ifndef XF_TEST_TARGET_CPU_SPANHEADS_H
#define XF_TEST_TARGET_CPU_SPANHEADS_H

#include "test/Target/CPU/SpanData.h"

namespace xf::cpu::test {

inline const char *const kSlots = "tensor<?xi32, #xf.dims<\"B\">>", *const kSpans = "tensor<?x2xi32, #xf.dims<\"B\", \"\">>";
inline std::string moduleOf(const std::string &text) {
  return "module attributes {xf.bounds = {B = 8 : i64, S = 64 : i64, P = 320 : i64}} {\n" + text + "}\n";
}

/// A token's elements are `step` apart; kernels are compiled for `constantStep`.
struct SpanCase {
  bool keys, narrow; // bf16
  int64_t width, step, constantStep;
};

/// Copies sentences to keys or values of attention.
class SpanHeads : public testing::TestWithParam<SpanCase> {
protected:
  std::string type(bool all) const {
    std::string shape = (all ? "tensor<1x2x?x" : "tensor<?x2x?x") + std::to_string(c.width) + (c.narrow ? "xbf16" : "xf32");
    return shape + (all ? ", #xf.dims<\"\", \"\", \"P\", \"\">>" : ", #xf.dims<\"B\", \"\", \"S\", \"\">>");
  }
  std::string spread() const {
    return moduleOf("xf.entry packed @run(%x: " + type(true) + " {xf.name = \"x\"}, %spans: " + kSpans + " {xf.name = \"s\"}) -> (" + type(false) +
                    " {xf.name = \"y\"}) {\n%y = xf.spread " + layout + " %x spans %spans : " + type(true) + ", " + kSpans + " -> " + type(false) +
                    "\nxf.return %y : " + type(false) + "\n}\n");
  }
  std::string store(bool spans) const {
    return moduleOf("xf.state @s : " + type(false) + " layers 1 sentences layout " + layout + "\nxf.entry packed @run(%x: " + type(spans) +
                    " {xf.name = \"x\"}, %slots: " + kSlots + " {xf.name = \"slots\"}, %spans: " + kSpans +
                    " {xf.name = \"s\"}) {\n"
                    "%zero = arith.constant 0 : index\nxf.store %x to @s[%zero] slots %slots " +
                    (spans ? "spans %spans " : "") + ": " + type(spans) + ", " + kSlots + (spans ? std::string(", ") + kSpans : "") +
                    "\nxf.return\n}\n");
  }

  /// Tokens as projections write them: [P, 2, D], with elements `step` apart and other data after each token.
  int64_t tokenRow() const { return kHeads * c.width * c.step + 3; }
  Elements tokens(const Sentences &s) const {
    Elements all(c.narrow, s.tokens * tokenRow(), std::numeric_limits<float>::quiet_NaN());
    std::vector<float> dice = randomValues(s.tokens * kHeads * c.width);
    for (size_t i = 0; i < dice.size(); ++i)
      all.set(i / (kHeads * c.width) * tokenRow() + i % (kHeads * c.width) * c.step, dice[i]);
    return all;
  }
  xf_abi_view viewOf(Elements &all, int64_t first, int64_t count) const {
    return view(all.at(first * tokenRow()), {1, kHeads, count, c.width}, {int64_t(1) << 40, c.width * c.step, tokenRow(), c.step});
  }

  int64_t columns() const { return c.keys ? c.width : (c.width + 15) / 16 * 16; } // including padding
  int64_t headStride() const { return kCapacity * columns(); }
  xf_abi_view rowsOf(Elements &packed, int64_t row, int64_t rows, int64_t longest) const {
    return view(packed.at(row * kHeads * headStride()), {rows, kHeads, longest, c.width}, {kHeads * headStride(), headStride(), columns(), 1});
  }
  /// [s/16][x/g][s%16][x%g] of keys, [s/g][x][s%g] of values
  int64_t offset(int64_t row, int64_t head, int64_t position, int64_t column) const {
    int64_t g = c.narrow ? 2 : 1, start = (row * kHeads + head) * headStride();
    return start + (c.keys ? (position / 16 * (c.width / g) + column / g) * 16 * g + position % 16 * g + column % g
                           : (position / g * columns() + column) * g + position % g);
  }
  Elements nothing() const { return Elements(c.narrow, 8 * kHeads * headStride() + 32, kUntouched); }

  /// The expected memory: sentence b in row rows[b], followed by zeros up to position end(length) and column `width`.
  Elements laidOut(const Sentences &s, const std::vector<int32_t> &rows, const Elements &x, llvm::function_ref<int64_t(int64_t)> end,
                   int64_t width) const {
    Elements packed = nothing();
    for (int64_t b = 0; b < s.count(); ++b)
      for (int64_t head = 0; head < kHeads; ++head)
        for (int64_t position = 0; position < end(s.lengths[b]); ++position)
          for (int64_t column = 0; column < width; ++column) {
            bool isGiven = position < s.lengths[b] && column < c.width;
            int64_t from = (s.firsts[b] + position) * tokenRow() + (head * c.width + column) * c.step;
            packed.set(offset(rows[b], head, position, column), isGiven ? x.get(from) : 0);
          }
    return packed;
  }

  static constexpr int64_t kCapacity = 64, kHeads = 2;
  static constexpr float kUntouched = -77.0f;
  SpanCase c = GetParam();
  std::string layout = c.keys ? "keys" : "values";
};

inline std::string nameOfCase(const testing::TestParamInfo<SpanCase> &info) {
  return std::string(info.param.keys ? "keys" : "values") + (info.param.narrow ? "_bf16_" : "_f32_") + std::to_string(info.index);
}

} // namespace xf::cpu::test

#endif // XF_TEST_TARGET_CPU_SPANHEADS_H
