// Sentences behind each other, copied to rows and slots of their own in the layouts of attention, as these are defined: spread with zeros
// up to the longest sentence, stored with nothing written beside the sentences.
#include "test/Target/CPU/SpanData.h"

using namespace xf::cpu;
using namespace xf::cpu::test;

namespace {

constexpr int64_t kDynamic = mlir::ShapedType::kDynamic, kRoom = 64, kHeads = 2;

struct Case {
  bool keys, narrow; // bf16
  int64_t width, step, knownStep;
};

class SpansTest : public testing::TestWithParam<Case> {
protected:
  std::string type(bool all) const {
    std::string shape = (all ? "tensor<1x2x?x" : "tensor<?x2x?x") + std::to_string(c.width) + (c.narrow ? "xbf16" : "xf32");
    return shape + (all ? ", #xf.dims<\"\", \"\", \"P\", \"\">>" : ", #xf.dims<\"B\", \"\", \"S\", \"\">>");
  }
  /// A spread and a store of the same tokens.
  std::string text() const {
    std::string slots = "tensor<?xi32, #xf.dims<\"B\">>", spans = "tensor<?x2xi32, #xf.dims<\"B\", \"\">>", layout = c.keys ? "keys" : "values";
    return "module attributes {xf.bounds = {B = 8 : i64, S = 64 : i64, P = 320 : i64}} {\n"
           "xf.state @s : " + type(false) + " layers 1 sentences layout " + layout + "\n"
           "xf.entry packed @run(%x: " + type(true) + " {xf.name = \"x\"}, %slots: " + slots + " {xf.name = \"slots\"}, %spans: " + spans +
           " {xf.name = \"spans\"}) -> (" + type(false) + " {xf.name = \"y\"}) {\n"
           "%zero = arith.constant 0 : index\n"
           "xf.store %x to @s[%zero] slots %slots spans %spans : " + type(true) + ", " + slots + ", " + spans + "\n"
           "%y = xf.spread " + layout + " %x spans %spans : " + type(true) + ", " + spans + " -> " + type(false) + "\n"
           "xf.return %y : " + type(false) + "\n}\n}\n";
  }

  /// As projections leave them: [P, 2, D], with elements `step` apart, and something else behind each token.
  int64_t tokenRow() const { return kHeads * c.width * c.step + 3; }
  Numbers tokens(const Sentences &s) const {
    Numbers all(c.narrow, s.tokens * tokenRow(), std::numeric_limits<float>::quiet_NaN());
    std::vector<float> dice = randomNumbers(s.tokens * kHeads * c.width);
    for (size_t i = 0; i < dice.size(); ++i)
      all.set(i / (kHeads * c.width) * tokenRow() + i % (kHeads * c.width) * c.step, dice[i]);
    return all;
  }
  xf_abi_view tokensOf(Numbers &all, const Sentences &s) const {
    return view(all.at(0), {1, kHeads, s.tokens, c.width}, {int64_t(1) << 40, c.width * c.step, tokenRow(), c.step});
  }

  int64_t columns() const { return c.keys ? c.width : (c.width + 15) / 16 * 16; }
  int64_t headStride() const { return kRoom * columns(); }
  Numbers nothing() const { return Numbers(c.narrow, 8 * kHeads * headStride() + 32, -77.0f); }
  xf_abi_view rowsOf(Numbers &packed, int64_t rows, int64_t positions) const {
    return view(packed.at(0), {rows, kHeads, positions, c.width}, {kHeads * headStride(), headStride(), columns(), 1});
  }
  /// [s/16][x/g][s%16][x%g] of keys, [s/g][x][s%g] of values
  int64_t place(int64_t row, int64_t head, int64_t position, int64_t column) const {
    int64_t g = c.narrow ? 2 : 1, start = (row * kHeads + head) * headStride();
    return start + (c.keys ? (position / 16 * (c.width / g) + column / g) * 16 * g + position % 16 * g + column % g
                           : (position / g * columns() + column) * g + position % g);
  }
  /// Sentence b in row rows[b], with zeros up to position `zerosTo`.
  Numbers expected(const Sentences &s, const std::vector<int32_t> &rows, Numbers &x, int64_t zerosTo) const {
    Numbers packed = nothing();
    for (int64_t b = 0; b < s.count(); ++b)
      for (int64_t head = 0; head < kHeads; ++head)
        for (int64_t position = 0; position < std::max(s.lengths[b], zerosTo); ++position)
          for (int64_t column = 0; column < c.width; ++column) {
            int64_t from = (s.firsts[b] + position) * tokenRow() + (head * c.width + column) * c.step;
            packed.set(place(rows[b], head, position, column), position < s.lengths[b] ? x.get(from) : 0);
          }
    return packed;
  }

  Case c = GetParam();
};

TEST_P(SpansTest, AreSpreadAndStored) {
  KernelHarness harness(text());
  Kernel spread = harness.compile(harness.find<mlir::xf::SpreadOp>(), Isa::avx2, {{c.knownStep, 1, 1}});
  Kernel store = harness.compile(harness.find<mlir::xf::StoreOp>(), Isa::avx2, {{c.knownStep, 1, 1, 1}});
  std::vector<Sentences> batches = sentenceBatches();
  batches.emplace_back(std::vector<int64_t>(300, 1)); // more than a block has threads
  for (Sentences &s : batches) {
    std::string what = std::to_string(s.count()) + " sentences";
    Numbers x = tokens(s);
    if (s.count() <= 8) {
      Numbers result = nothing();
      spread({tokensOf(x, s), s.view(), rowsOf(result, s.count(), s.longest)});
      EXPECT_EQ(result.difference(expected(s, {0, 1, 2, 3, 4, 5}, x, s.longest)), -1) << "spread, " << what;
    }
    // Of many sentences all but the last few are stored nowhere: they are empty.
    for (size_t b = 0; b + 8 < s.lengths.size(); ++b)
      s.spans[2 * s.step * b + s.step] = 0, s.lengths[b] = 0;
    std::vector<int32_t> slots(s.count());
    for (size_t b = 0; b < slots.size(); ++b)
      slots[b] = int32_t((b * 3 + 6) % 8);
    Numbers result = nothing();
    store({tokensOf(x, s), view(slots, {s.count()}), s.view(), rowsOf(result, 8, kRoom)});
    EXPECT_EQ(result.difference(expected(s, slots, x, 0)), -1) << "stored, " << what;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, SpansTest,
                         testing::Values(Case{true, false, 16, 1, 1}, Case{true, false, 5, 1, 1}, Case{true, false, 24, 2, kDynamic},
                                         Case{false, false, 32, 1, 1}, Case{false, false, 20, 3, kDynamic}, Case{true, true, 64, 1, 1},
                                         Case{true, true, 6, 2, 2}, Case{false, true, 32, 1, 1}, Case{false, true, 5, 2, kDynamic}),
                         [](const testing::TestParamInfo<Case> &info) {
                           return std::string(info.param.keys ? "keys" : "values") + (info.param.narrow ? "_bf16_" : "_f32_") + std::to_string(info.index);
                         });

} // namespace
