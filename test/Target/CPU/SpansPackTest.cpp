// Sentences behind each other, copied to rows and slots of their own: as the layouts' definitions have it, with the bits of a copy of
// each sentence alone, and with nothing else written.
#include "test/Target/CPU/SpanData.h"

using namespace xf::cpu;
using namespace xf::cpu::test;

namespace {

constexpr int64_t kDynamic = mlir::ShapedType::kDynamic, kRoom = 64, kHeads = 2;
constexpr float kUntouched = -77.0f;

const char *const kSlots = "tensor<?xi32, #xf.dims<\"B\">>", *const kSpans = "tensor<?x2xi32, #xf.dims<\"B\", \"\">>";
std::string moduleOf(const std::string &text) { return "module attributes {xf.bounds = {B = 8 : i64, S = 64 : i64, P = 320 : i64}} {\n" + text + "}\n"; }

struct Case {
  bool keys, narrow; // bf16
  int64_t width, step, knownStep;
};

class SpansLayoutTest : public testing::TestWithParam<Case> {
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
  std::string pack() const {
    return moduleOf("xf.entry @run(%x: " + type(false) + " {xf.name = \"x\"}) -> (" + type(false) + " {xf.name = \"y\"}) {\n%y = xf.pack " + layout + " %x : " +
                    type(false) + "\nxf.return %y : " + type(false) + "\n}\n");
  }
  std::string store(bool spans) const {
    return moduleOf("xf.state @s : " + type(false) + " layers 1 sentences layout " + layout + "\nxf.entry packed @run(%x: " + type(spans) +
                    " {xf.name = \"x\"}, %slots: " + kSlots + " {xf.name = \"slots\"}, %spans: " + kSpans + " {xf.name = \"s\"}) {\n"
                    "%zero = arith.constant 0 : index\nxf.store %x to @s[%zero] slots %slots " + (spans ? "spans %spans " : "") + ": " + type(spans) + ", " + kSlots +
                    (spans ? std::string(", ") + kSpans : "") + "\nxf.return\n}\n");
  }

  /// Tokens as projections leave them: [P, 2, D], with elements `step` apart, and something else behind each token.
  int64_t tokenRow() const { return kHeads * c.width * c.step + 3; }
  Numbers tokens(const Sentences &s) const {
    Numbers all(c.narrow, s.tokens * tokenRow(), std::numeric_limits<float>::quiet_NaN());
    std::vector<float> dice = randomNumbers(s.tokens * kHeads * c.width);
    for (size_t i = 0; i < dice.size(); ++i)
      all.set(i / (kHeads * c.width) * tokenRow() + i % (kHeads * c.width) * c.step, dice[i]);
    return all;
  }
  xf_abi_view viewOf(Numbers &all, int64_t first, int64_t count) const {
    return view(all.at(first * tokenRow()), {1, kHeads, count, c.width}, {int64_t(1) << 40, c.width * c.step, tokenRow(), c.step});
  }

  int64_t columns() const { return c.keys ? c.width : (c.width + 15) / 16 * 16; } // that are written
  int64_t headStride() const { return kRoom * columns(); }
  xf_abi_view rowsOf(Numbers &packed, int64_t row, int64_t rows, int64_t longest) const {
    return view(packed.at(row * kHeads * headStride()), {rows, kHeads, longest, c.width}, {kHeads * headStride(), headStride(), columns(), 1});
  }
  /// [s/16][x/g][s%16][x%g] of keys, [s/g][x][s%g] of values
  int64_t place(int64_t row, int64_t head, int64_t position, int64_t column) const {
    int64_t g = c.narrow ? 2 : 1, start = (row * kHeads + head) * headStride();
    return start + (c.keys ? (position / 16 * (c.width / g) + column / g) * 16 * g + position % 16 * g + column % g
                           : (position / g * columns() + column) * g + position % g);
  }
  Numbers nothing() const { return Numbers(c.narrow, 8 * kHeads * headStride() + 32, kUntouched); }
  /// What the layout is by definition: whole panels of keys are written, and whole words of values.
  Numbers expected(const Sentences &s, const std::vector<int32_t> &rows, const Numbers &x) const {
    Numbers packed = nothing();
    int64_t unit = c.keys ? 16 : c.narrow ? 2 : 1;
    for (int64_t b = 0; b < s.count(); ++b)
      for (int64_t head = 0; head < kHeads; ++head)
        for (int64_t position = 0; position < llvm::alignTo(s.lengths[b], unit); ++position)
          for (int64_t column = 0; column < columns(); ++column) {
            bool isGiven = position < s.lengths[b] && column < c.width;
            int64_t from = (s.firsts[b] + position) * tokenRow() + (head * c.width + column) * c.step;
            packed.set(place(rows[b], head, position, column), isGiven ? x.get(from) : 0);
          }
    return packed;
  }

  Case c = GetParam();
  std::string layout = c.keys ? "keys" : "values";
};

TEST_P(SpansLayoutTest, SpreadEqualsPackingEachSentenceAlone) {
  KernelHarness harness(spread()), aloneHarness(pack());
  for (Isa isa : machineIsas()) {
    Kernel kernel = harness.compile(harness.find<mlir::xf::SpreadOp>(), isa, {{c.knownStep, 1, 1}});
    Kernel alone = aloneHarness.compile(aloneHarness.find<mlir::xf::PackOp>(), isa, {{c.knownStep, 1}});
    for (Sentences &s : sentenceBatches()) {
      Numbers x = tokens(s), packed = nothing();
      std::vector<int32_t> rows = {0, 1, 2, 3, 4, 5};
      std::string what = isaName(isa).str() + ", " + std::to_string(s.count()) + " sentences";
      for (int64_t b = 0; b < s.count(); ++b)
        if (s.lengths[b])
          alone({viewOf(x, s.firsts[b], s.lengths[b]), rowsOf(packed, b, 1, s.lengths[b])});
      ASSERT_EQ(packed.difference(expected(s, rows, x)), -1) << what << " alone";
      for (int threads : {1, 2, 5}) {
        Numbers result = nothing();
        kernel({viewOf(x, 0, s.tokens), s.view(), rowsOf(result, 0, s.count(), s.longest)}, threads);
        ASSERT_EQ(result.difference(packed), -1) << what << ", " << threads << " threads";
      }
    }
  }
}

TEST_P(SpansLayoutTest, StoreEqualsStoringEachSentenceAlone) {
  KernelHarness harness(store(true)), aloneHarness(store(false));
  for (Isa isa : machineIsas()) {
    Kernel kernel = harness.compile(harness.find<mlir::xf::StoreOp>(), isa, {{c.knownStep, 1, 1, 1}});
    Kernel alone = aloneHarness.compile(aloneHarness.find<mlir::xf::StoreOp>(), isa, {{c.knownStep, 1, 1}});
    for (Sentences &s : sentenceBatches()) {
      Numbers x = tokens(s), packed = nothing();
      std::vector<int32_t> slots = {6, 1, 0, 4, 7, 2};
      std::string what = isaName(isa).str() + ", " + std::to_string(s.count()) + " sentences";
      for (int64_t b = 0; b < s.count(); ++b)
        if (s.lengths[b])
          alone({viewOf(x, s.firsts[b], s.lengths[b]), view(&slots[b], {1}), rowsOf(packed, 0, 8, kRoom)});
      ASSERT_EQ(packed.difference(expected(s, slots, x)), -1) << what << " alone";
      for (int threads : {1, 2, 5}) {
        Numbers result = nothing();
        kernel({viewOf(x, 0, s.tokens), view(slots, {s.count()}), s.view(), rowsOf(result, 0, 8, kRoom)}, threads);
        ASSERT_EQ(result.difference(packed), -1) << what << ", " << threads << " threads";
      }
    }
  }
}

std::string nameOf(const testing::TestParamInfo<Case> &info) {
  return std::string(info.param.keys ? "keys" : "values") + (info.param.narrow ? "_bf16_" : "_f32_") + std::to_string(info.index);
}

INSTANTIATE_TEST_SUITE_P(Cases, SpansLayoutTest,
                         testing::Values(Case{true, false, 16, 1, 1}, Case{true, false, 5, 1, 1}, Case{true, false, 24, 2, 2},
                                         Case{false, false, 32, 1, 1}, Case{false, false, 5, 1, 1}, Case{false, false, 20, 3, kDynamic},
                                         Case{true, true, 64, 1, 1}, Case{true, true, 6, 1, 1}, Case{true, true, 40, 3, kDynamic},
                                         Case{false, true, 32, 1, 1}, Case{false, true, 5, 2, 2}, Case{false, true, 20, 3, kDynamic}),
                         nameOf);

} // namespace
