#include "test/Target/CPU/KernelHarness.h"

#include <numeric>

using namespace xf::cpu;
using namespace xf::cpu::test;

namespace {

constexpr int64_t kDynamic = mlir::ShapedType::kDynamic;
constexpr float kUntouched = -77.0f;

std::string headsType(int64_t width, const std::string &positions) {
  return "tensor<?x2x?x" + std::to_string(width) + "xf32, #xf.dims<\"B\", \"\", \"" + positions + "\", \"\">>";
}

/// Views on [B, 2, T, D] as projections leave it: [B, T, 2, D], with elements `step` apart.
struct Heads {
  Heads(int64_t rows, int64_t positions, int64_t width, int64_t step)
      : rows(rows), positions(positions), width(width), step(step), data(randomValues(rows * positions * 2 * width * step)) {}

  xf_abi_view view() { return test::view(data, {rows, 2, positions, width}, {positions * 2 * width * step, width * step, 2 * width * step, step}); }
  float at(int64_t row, int64_t head, int64_t position, int64_t column) const {
    return data[((row * positions + position) * 2 + head) * width * step + column * step];
  }

  int64_t rows, positions, width, step;
  std::vector<float> data;
};

/// Keys or values of up to `capacity` positions; the layout's definition, to compare with.
struct Packed {
  Packed(bool keys, int64_t rows, int64_t capacity, int64_t width)
      : keys(keys), capacity(capacity), width(width), panels((width + 15) / 16), data(rows * rowStride() + 16, kUntouched) {}

  int64_t headStride() const { return keys ? capacity * width : panels * capacity * 16; }
  int64_t rowStride() const { return 2 * headStride(); }
  xf_abi_view view() { return test::view(data, {0, 0, 0, 0}, {rowStride(), headStride(), keys ? width : panels * 16, 1}); }
  float &at(int64_t row, int64_t head, int64_t position, int64_t column) {
    int64_t offset = keys ? (position / 16 * width + column) * 16 + position % 16 : position * panels * 16 + column;
    return data[row * rowStride() + head * headStride() + offset];
  }

  bool keys;
  int64_t capacity, width, panels;
  std::vector<float> data;
};

struct LayoutCase {
  bool keys;
  int64_t width, step, constantStep;
};
class LayoutTest : public testing::TestWithParam<LayoutCase> {
protected:
  LayoutCase c = GetParam();
  const char *layout() { return c.keys ? "keys" : "values"; }
};

TEST_P(LayoutTest, PacksWholeTensors) {
  std::string type = headsType(c.width, "T");
  KernelHarness harness("module attributes {xf.bounds = {B = 8 : i64, T = 64 : i64}} {\n"
                        "xf.entry @run(%x: " +
                        type + " {xf.name = \"x\"}) -> (" + type +
                        " {xf.name = \"y\"}) {\n"
                        "%y = xf.pack " +
                        layout() + " %x : " + type + "\nxf.return %y : " + type + "\n}\n}\n");
  auto op = harness.find<mlir::xf::PackOp>();
  for (Isa isa : machineIsas()) {
    Kernel kernel = harness.compile(op, isa, {{c.constantStep, 1}});
    for (int64_t positions : {1, 16, 21, 48}) {
      Heads heads(3, positions, c.width, c.step);
      for (int threads : {1, 2, 5}) {
        Packed expected(c.keys, 3, 64, c.width), packed(c.keys, 3, 64, c.width);
        for (int64_t row = 0; row < 3; ++row)
          for (int64_t head = 0; head < 2; ++head) {
            for (int64_t position = 0; position < (positions + 15) / 16 * 16; ++position)
              for (int64_t column = 0; column < (c.keys ? c.width : expected.panels * 16); ++column)
                if (position < positions)
                  expected.at(row, head, position, column) = column < c.width ? heads.at(row, head, position, column) : 0;
                else if (c.keys)
                  expected.at(row, head, position, column) = 0;
          }
        kernel({heads.view(), packed.view()}, threads);
        ASSERT_EQ(packed.data, expected.data) << isaName(isa).str() << " positions " << positions;
      }
    }
  }
}

TEST_P(LayoutTest, AppendsBehindEachRowsPast) {
  std::string type = headsType(c.width, "N"), all = headsType(c.width, "T");
  KernelHarness harness("module attributes {xf.bounds = {B = 8 : i64, T = 64 : i64}} {\n"
                        "xf.state @s : " +
                        all + " layers 1 layout " + layout() +
                        "\n"
                        "xf.entry step @run(%x: " +
                        type + " {xf.name = \"x\"}, %past: tensor<?xi32, #xf.dims<\"B\">> {xf.name = \"xf.past\"}) -> (" + all +
                        " {xf.name = \"y\"}) {\n%zero = arith.constant 0 : index\n"
                        "%y = xf.append %x to @s[%zero] axis 2 past %past : " +
                        type + ", tensor<?xi32, #xf.dims<\"B\">> -> " + all + "\nxf.return %y : " + all + "\n}\n}\n");
  auto op = harness.find<mlir::xf::AppendOp>();
  for (Isa isa : machineIsas()) {
    Kernel kernel = harness.compile(op, isa, {{c.constantStep, 1, 1}});
    for (int64_t positions : {1, 5}) {
      Heads heads(3, positions, c.width, c.step);
      std::vector<int32_t> past = {0, 15, 33};
      for (int threads : {1, 4}) {
        Packed expected(c.keys, 3, 64, c.width), packed(c.keys, 3, 64, c.width);
        for (int64_t row = 0; row < 3; ++row)
          for (int64_t head = 0; head < 2; ++head)
            for (int64_t i = 0; i < positions; ++i)
              for (int64_t column = 0; column < (c.keys ? c.width : expected.panels * 16); ++column)
                expected.at(row, head, past[row] + i, column) = column < c.width ? heads.at(row, head, i, column) : 0;
        kernel({heads.view(), view(past, {3}), packed.view()}, threads);
        ASSERT_EQ(packed.data, expected.data) << isaName(isa).str() << " positions " << positions;
      }
    }
  }
}

TEST_P(LayoutTest, StoresSentencesInTheirSlots) {
  std::string type = headsType(c.width, "T");
  KernelHarness harness("module attributes {xf.bounds = {B = 8 : i64, T = 64 : i64}} {\n"
                        "xf.state @s : " +
                        type + " layers 1 sentences layout " + layout() +
                        "\n"
                        "xf.entry begin @run(%x: " +
                        type +
                        " {xf.name = \"x\"}, %slots: tensor<?xi32, #xf.dims<\"B\">> {xf.name = \"xf.slots\"}) {\n"
                        "%zero = arith.constant 0 : index\n"
                        "xf.store %x to @s[%zero] slots %slots : " +
                        type + ", tensor<?xi32, #xf.dims<\"B\">>\nxf.return\n}\n}\n");
  auto op = harness.find<mlir::xf::StoreOp>();
  for (Isa isa : machineIsas()) {
    Kernel kernel = harness.compile(op, isa, {{c.constantStep, 1, 1}});
    Heads heads(2, 19, c.width, c.step);
    std::vector<int32_t> slots = {4, 1};
    Packed packed(c.keys, 5, 64, c.width);
    kernel({heads.view(), view(slots, {2}), packed.view()});
    for (int64_t row = 0; row < 2; ++row)
      for (int64_t head = 0; head < 2; ++head)
        for (int64_t position = 0; position < 19; ++position)
          for (int64_t column = 0; column < c.width; ++column)
            ASSERT_EQ(packed.at(slots[row], head, position, column), heads.at(row, head, position, column));
    EXPECT_EQ(packed.at(0, 0, 0, 0), kUntouched);
    EXPECT_EQ(packed.at(2, 1, 18, 0), kUntouched);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, LayoutTest,
                         testing::Values(LayoutCase{true, 16, 1, 1}, LayoutCase{true, 8, 1, 1}, LayoutCase{true, 24, 2, 2},
                                         LayoutCase{false, 32, 1, 1}, LayoutCase{false, 5, 1, 1}, LayoutCase{false, 20, 3, kDynamic}));

TEST(CopyTest, MakesViewsDense) {
  std::string type = "tensor<?x3x?xf32, #xf.dims<\"B\", \"\", \"T\">>";
  KernelHarness harness("module attributes {xf.bounds = {B = 8 : i64, T = 64 : i64}} {\n"
                        "xf.entry @run(%x: " +
                        type + " {xf.name = \"x\"}) -> (" + type +
                        " {xf.name = \"y\"}) {\n"
                        "%y = xf.pack plain %x : " +
                        type + "\nxf.return %y : " + type + "\n}\n}\n");
  auto op = harness.find<mlir::xf::PackOp>();
  for (Isa isa : machineIsas())
    for (int64_t constantStep : {int64_t(6), kDynamic}) {
      Kernel kernel = harness.compile(op, isa, {{constantStep, 1}});
      int64_t rows = 2, positions = 37; // seen as [B, T, 3, 2], transposed
      std::vector<float> x = randomValues(rows * positions * 6), y(rows * positions * 3 + 16, kUntouched);
      kernel({view(x, {rows, 3, positions}, {positions * 6, 2, 6}), view(y, {rows, 3, positions})}, 2);
      for (int64_t b = 0; b < rows; ++b)
        for (int64_t c = 0; c < 3; ++c)
          for (int64_t t = 0; t < positions; ++t)
            ASSERT_EQ(y[(b * 3 + c) * positions + t], x[(b * positions + t) * 6 + c * 2]);
      EXPECT_EQ(y[rows * positions * 3], kUntouched);
    }
}

TEST(CopyTest, ConcatenatesAlongAnyAxis) {
  using Sizes = std::vector<int64_t>;
  constexpr int64_t batch = 7; // what is of this size is B
  auto typeOf = [&](const Sizes &sizes) {
    std::string shape, names;
    for (int64_t size : sizes) {
      shape += (size == batch ? "?" : std::to_string(size)) + "x";
      names += std::string(names.empty() ? "" : ", ") + (size == batch ? "\"B\"" : "\"\"");
    }
    return "tensor<" + shape + "f32, #xf.dims<" + names + ">>";
  };
  for (auto [axis, firstSizes, secondSizes] :
       {std::tuple{0, Sizes{20, batch, 6}, Sizes{3, batch, 6}}, {1, {batch, 20, 6}, {batch, 3, 6}}, {2, {batch, 4, 20}, {batch, 4, 3}}}) {
    Sizes sizes = firstSizes;
    sizes[axis] = 23;
    std::string a = typeOf(firstSizes), c = typeOf(secondSizes), y = typeOf(sizes);
    KernelHarness harness("module attributes {xf.bounds = {B = 8 : i64}} {\n"
                          "xf.entry @run(%a: " +
                          a + " {xf.name = \"a\"}, %c: " + c + " {xf.name = \"c\"}) -> (" + y +
                          " {xf.name = \"y\"}) {\n"
                          "%y = xf.concat(%a, %c) axis " +
                          std::to_string(axis) + " : (" + a + ", " + c + ") -> " + y + "\nxf.return %y : " + y + "\n}\n}\n");
    auto op = harness.find<mlir::xf::ConcatOp>();
    int64_t inner = std::accumulate(sizes.begin() + axis + 1, sizes.end(), int64_t(1), std::multiplies());
    int64_t all = std::accumulate(sizes.begin(), sizes.end(), int64_t(1), std::multiplies());
    for (Isa isa : machineIsas()) {
      Kernel kernel = harness.compile(op, isa, {{1, 1, 1}});
      std::vector<float> first = randomValues(all / 23 * 20), second = randomValues(all / 23 * 3, 2), joined(all + 16, kUntouched);
      kernel({view(first, firstSizes), view(second, secondSizes), view(joined, sizes)}, 3);
      for (int64_t i = 0; i < all; ++i) {
        int64_t outer = i / inner / 23, position = i / inner % 23, rest = i % inner;
        ASSERT_EQ(joined[i], position < 20 ? first[(outer * 20 + position) * inner + rest] : second[(outer * 3 + position - 20) * inner + rest])
            << isaName(isa).str() << " axis " << axis << " element " << i;
      }
      EXPECT_EQ(joined[all], kUntouched);
    }
  }
}

/// Elements whose last dimension is their own, and every other element of rows.
TEST(CopyTest, InterleavesAndTakesApart) {
  for (int64_t width : {1, 20, 37}) {
    std::string n = std::to_string(width), alone = "tensor<?x" + n + "x1xf32, #xf.dims<\"B\", \"\", \"\">>";
    std::string pairs = "tensor<?x" + n + "x2xf32, #xf.dims<\"B\", \"\", \"\">>", row = "tensor<?x" + n + "xf32, #xf.dims<\"B\", \"\">>";
    KernelHarness harness("module attributes {xf.bounds = {B = 8 : i64}} {\n"
                          "xf.entry @run(%a: " +
                          alone + " {xf.name = \"a\"}, %c: " + alone + " {xf.name = \"c\"}, %r: " + row + " {xf.name = \"r\"}) -> (" + pairs +
                          " {xf.name = \"y\"}, " + row +
                          " {xf.name = \"z\"}) {\n"
                          "%y = xf.concat(%a, %c) axis 2 : (" +
                          alone + ", " + alone + ") -> " + pairs + "\n%z = xf.pack plain %r : " + row + "\nxf.return %y, %z : " + pairs + ", " + row +
                          "\n}\n}\n");
    constexpr int64_t rows = 3;
    std::vector<float> first = randomValues(rows * width), second = randomValues(rows * width, 2);
    for (Isa isa : machineIsas()) {
      std::vector<float> both(2 * rows * width + 16, kUntouched), odd(rows * width + 16, kUntouched);
      harness.compile(harness.find<mlir::xf::ConcatOp>(), isa,
                      {{1, 1, 1}})({view(first, {rows, width, 1}), view(second, {rows, width, 1}), view(both, {rows, width, 2})}, 2);
      harness.compile(harness.find<mlir::xf::PackOp>(), isa,
                      {{2, 1}})({view(both.data() + 1, {rows, width}, {2 * width, 2}), view(odd, {rows, width})}, 2);
      for (int64_t i = 0; i < rows * width; ++i) {
        ASSERT_TRUE(both[2 * i] == first[i] && both[2 * i + 1] == second[i]) << isaName(isa).str() << " width " << width << " element " << i;
        ASSERT_EQ(odd[i], second[i]) << isaName(isa).str() << " width " << width << " element " << i;
      }
      EXPECT_TRUE(both[2 * rows * width] == kUntouched && odd[rows * width] == kUntouched);
    }
  }
}

TEST(CopyTest, AppendsTokensAndTruths) {
  for (const char *element : {"i32", "i1"}) {
    std::string e = element;
    std::string type = "tensor<?x?x" + e + ", #xf.dims<\"B\", \"N\">>", all = "tensor<?x?x" + e + ", #xf.dims<\"B\", \"T\">>";
    KernelHarness harness("module attributes {xf.bounds = {B = 8 : i64, T = 64 : i64}} {\n"
                          "xf.state @s : " +
                          all +
                          " layers 1\n"
                          "xf.entry step @run(%x: " +
                          type + " {xf.name = \"x\"}, %past: tensor<?xi32, #xf.dims<\"B\">> {xf.name = \"xf.past\"}) -> (" + all +
                          " {xf.name = \"y\"}) {\n%zero = arith.constant 0 : index\n"
                          "%y = xf.append %x to @s[%zero] axis 1 past %past : " +
                          type + ", tensor<?xi32, #xf.dims<\"B\">> -> " + all + "\nxf.return %y : " + all + "\n}\n}\n");
    auto op = harness.find<mlir::xf::AppendOp>();
    auto check = [&](auto zero) {
      using T = decltype(zero);
      for (Isa isa : machineIsas()) {
        Kernel kernel = harness.compile(op, isa, {{1, 1, 1}});
        std::vector<T> x(3 * 18), state(3 * 64, 9), expected(3 * 64, 9);
        for (size_t i = 0; i < x.size(); ++i)
          x[i] = i % 3 == 0;
        std::vector<int32_t> past = {40, 0, 7};
        for (int64_t row = 0; row < 3; ++row)
          std::copy_n(&x[row * 18], 18, &expected[row * 64 + past[row]]);
        kernel({view(x, {3, 18}), view(past, {3}), view(state, {3, 64})}, 2);
        ASSERT_EQ(state, expected) << e << " " << isaName(isa).str();
      }
    };
    if (e == "i32")
      check(int32_t());
    else
      check(uint8_t());
  }
}

} // namespace
