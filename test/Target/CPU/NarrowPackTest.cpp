// Keys and values of bf16, of which two elements share a word.
#include "test/Target/CPU/FactorData.h"

using namespace xf::cpu;
using namespace xf::cpu::test;

namespace {

constexpr int64_t kDynamic = mlir::ShapedType::kDynamic, kCapacity = 64, kHeads = 2;
constexpr uint16_t kUntouched = 0xffff;

struct Case {
  bool keys;
  int64_t width, step, constantStep;
};

/// [B, 2, T, D] as projections leave it: [B, T, 2, D], with elements `step` apart.
struct Heads {
  Heads(const Case &c, int64_t rows, int64_t positions) : c(c), rows(rows), positions(positions) {
    for (float x : randomValues(rows * positions * kHeads * c.width * c.step))
      data.push_back(toBF16(x));
  }
  /// The positions from `first` on.
  xf_abi_view view(int64_t first, int64_t count) {
    int64_t row = kHeads * c.width * c.step;
    return test::view(data.data() + first * row, {rows, kHeads, count, c.width}, {positions * row, c.width * c.step, row, c.step});
  }
  uint16_t at(int64_t row, int64_t head, int64_t position, int64_t column) const {
    return data[(((row * positions + position) * kHeads + head) * c.width + column) * c.step];
  }
  Case c;
  int64_t rows, positions;
  std::vector<uint16_t> data;
};

/// The layouts' definition, to compare with.
struct Packed {
  Packed(const Case &c, int64_t rows) : c(c), panels((c.width + 15) / 16), data(rows * kHeads * headStride() + 32, kUntouched) {}

  int64_t headStride() const { return c.keys ? kCapacity * c.width : panels * kCapacity * 16; }
  xf_abi_view view() { return test::view(data, {0, 0, 0, 0}, {kHeads * headStride(), headStride(), c.keys ? c.width : panels * 16, 1}); }
  uint16_t &at(int64_t row, int64_t head, int64_t position, int64_t column) {
    int64_t key = ((position / 16 * (c.width / 2) + column / 2) * 16 + position % 16) * 2 + column % 2;
    int64_t value = (position / 2 * panels * 16 + column) * 2 + position % 2;
    return data[(row * kHeads + head) * headStride() + (c.keys ? key : value)];
  }
  /// Columns that are written: of values, whole vectors.
  int64_t columns() const { return c.keys ? c.width : panels * 16; }
  /// Positions that are written with `count` of them: whole panels of keys if they come all at once, whole words of values.
  int64_t written(int64_t count, bool atOnce) const { return c.keys ? (atOnce ? (count + 15) / 16 * 16 : count) : (count + 1) / 2 * 2; }

  void fill(const Heads &heads, int64_t row, int64_t target, int64_t count, int64_t past, bool atOnce) {
    for (int64_t head = 0; head < kHeads; ++head)
      for (int64_t position = 0; position < written(past + count, atOnce); ++position)
        for (int64_t column = 0; column < columns(); ++column)
          at(target, head, position, column) = position < past + count && column < c.width ? heads.at(row, head, position, column) : 0;
  }

  Case c;
  int64_t panels;
  std::vector<uint16_t> data;
};

class NarrowPackTest : public testing::TestWithParam<Case> {
protected:
  Case c = GetParam();
  std::string type(const char *positions) {
    return "tensor<?x2x?x" + std::to_string(c.width) + "xbf16, #xf.dims<\"B\", \"\", \"" + positions + "\", \"\">>";
  }
  std::string layout() { return c.keys ? "keys" : "values"; }
};

TEST_P(NarrowPackTest, PacksWholeTensors) {
  KernelHarness harness("module attributes {xf.bounds = {B = 8 : i64, T = 64 : i64}} {\n"
                        "xf.entry @run(%x: " +
                        type("T") + " {xf.name = \"x\"}) -> (" + type("T") +
                        " {xf.name = \"y\"}) {\n"
                        "%y = xf.pack " +
                        layout() + " %x : " + type("T") + "\nxf.return %y : " + type("T") + "\n}\n}\n");
  for (Isa isa : machineIsas()) {
    Kernel kernel = harness.compile(harness.find<mlir::xf::PackOp>(), isa, {{c.constantStep, 1}});
    for (int64_t positions : {1, 2, 16, 21, 48})
      for (int threads : {1, 4}) {
        Heads heads(c, 3, positions);
        Packed expected(c, 3), packed(c, 3);
        for (int64_t row = 0; row < 3; ++row)
          expected.fill(heads, row, row, positions, 0, /*atOnce=*/true);
        kernel({heads.view(0, positions), packed.view()}, threads);
        ASSERT_EQ(packed.data, expected.data) << isaName(isa).str() << " positions " << positions;
      }
  }
}

TEST_P(NarrowPackTest, AppendsAnyNumberOfPositions) {
  KernelHarness harness("module attributes {xf.bounds = {B = 8 : i64, T = 64 : i64}} {\n"
                        "xf.state @s : " +
                        type("T") + " layers 1 layout " + layout() +
                        "\n"
                        "xf.entry step @run(%x: " +
                        type("N") + " {xf.name = \"x\"}, %past: tensor<?xi32, #xf.dims<\"B\">> {xf.name = \"xf.past\"}) -> (" + type("T") +
                        " {xf.name = \"y\"}) {\n%zero = arith.constant 0 : index\n"
                        "%y = xf.append %x to @s[%zero] axis 2 past %past : " +
                        type("N") + ", tensor<?xi32, #xf.dims<\"B\">> -> " + type("T") + "\nxf.return %y : " + type("T") + "\n}\n}\n");
  for (Isa isa : machineIsas()) {
    Kernel kernel = harness.compile(harness.find<mlir::xf::AppendOp>(), isa, {{c.constantStep, 1, 1}});
    Heads heads(c, 3, 40);
    Packed expected(c, 3), packed(c, 3);
    int64_t past = 0;
    for (int64_t count : {1, 1, 1, 4, 2, 9, 1, 20}) {
      std::vector<int32_t> pasts(3, int32_t(past));
      kernel({heads.view(past, count), view(pasts, {3}), packed.view()}, 2);
      for (int64_t row = 0; row < 3; ++row)
        expected.fill(heads, row, row, count, past, /*atOnce=*/false);
      past += count;
      ASSERT_EQ(packed.data, expected.data) << isaName(isa).str() << " with " << past << " positions";
    }
  }
}

TEST_P(NarrowPackTest, StoresSentencesInTheirSlots) {
  KernelHarness harness("module attributes {xf.bounds = {B = 8 : i64, T = 64 : i64}} {\n"
                        "xf.state @s : " +
                        type("T") + " layers 1 sentences layout " + layout() +
                        "\n"
                        "xf.entry begin @run(%x: " +
                        type("T") +
                        " {xf.name = \"x\"}, %slots: tensor<?xi32, #xf.dims<\"B\">> {xf.name = \"xf.slots\"}) {\n"
                        "%zero = arith.constant 0 : index\n"
                        "xf.store %x to @s[%zero] slots %slots : " +
                        type("T") + ", tensor<?xi32, #xf.dims<\"B\">>\nxf.return\n}\n}\n");
  for (Isa isa : machineIsas()) {
    Kernel kernel = harness.compile(harness.find<mlir::xf::StoreOp>(), isa, {{c.constantStep, 1, 1}});
    Heads heads(c, 2, 19);
    std::vector<int32_t> slots = {4, 1};
    Packed expected(c, 5), packed(c, 5);
    for (int64_t row = 0; row < 2; ++row)
      expected.fill(heads, row, slots[row], 19, 0, /*atOnce=*/true);
    kernel({heads.view(0, 19), view(slots, {2}), packed.view()});
    ASSERT_EQ(packed.data, expected.data) << isaName(isa).str();
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, NarrowPackTest,
                         testing::Values(Case{true, 16, 1, 1}, Case{true, 6, 1, 1}, Case{true, 64, 1, 1}, Case{true, 24, 2, 2},
                                         Case{true, 40, 3, kDynamic}, Case{false, 32, 1, 1}, Case{false, 5, 1, 1}, Case{false, 20, 3, kDynamic}));

} // namespace
