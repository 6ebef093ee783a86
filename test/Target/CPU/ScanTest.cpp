#include "test/Target/CPU/KernelHarness.h"

using namespace xf::cpu;
using namespace xf::cpu::test;

namespace {

/// s = f * s + (1 - f) * u; y = max(s, 0), and the running count of positions.
std::string text(const std::string &type, int axis, bool isReversed) {
  return "module attributes {xf.bounds = {B = 8 : i64, T = 64 : i64}} {\nxf.entry @run(%f: " + type + " {xf.name = \"f\"}, %u: " + type +
         " {xf.name = \"u\"}) -> (" + type + " {xf.name = \"y\"}) {\n%y, %n = xf.scan(%f, %u) axis " + std::to_string(axis) +
         (isReversed ? " reverse" : "") + " init [0.5, 0.0] : (" + type + ", " + type + ") -> (" + type + ", " + type +
         ") {\n"
         "^bb0(%s: f32, %k: f32, %a: f32, %b: f32):\n%one = arith.constant 1.0 : f32\n%zero = arith.constant 0.0 : f32\n"
         "%p = arith.mulf %a, %s : f32\n%c = arith.subf %one, %a : f32\n%q = arith.mulf %c, %b : f32\n%r = arith.addf %p, %q : f32\n"
         "%l = arith.addf %k, %one : f32\n%m = arith.maximumf %r, %zero : f32\nxf.yield %r, %l, %m, %l : f32, f32, f32, f32\n}\n"
         "xf.return %y : " +
         type + "\n}\n}\n";
}

/// The recurrence over `positions` with steps of `stride`, from `state` at `at` on.
void walk(const std::vector<float> &f, const std::vector<float> &u, std::vector<float> &y, size_t at, int64_t positions, int64_t stride,
          float state) {
  for (int64_t t = 0; t < positions; ++t, at += static_cast<size_t>(stride)) {
    state = f[at] * state + (1 - f[at]) * u[at];
    y[at] = std::max(state, 0.0f);
  }
}

class ScanTest : public testing::TestWithParam<bool> {};

TEST_P(ScanTest, WalksAlongAnyAxis) {
  bool isReversed = GetParam();
  for (int64_t width : {1, 5, 16, 37})
    for (int axis : {0, 1, 2}) {
      std::string w = std::to_string(width);
      std::string type = axis == 2   ? "tensor<?x" + w + "x?xf32, #xf.dims<\"B\", \"\", \"T\">>"
                         : axis == 1 ? "tensor<?x?x" + w + "xf32, #xf.dims<\"B\", \"T\", \"\">>"
                                     : "tensor<?x?x" + w + "xf32, #xf.dims<\"T\", \"B\", \"\">>";
      KernelHarness harness(text(type, axis, isReversed));
      int64_t batch = 3, positions = 7;
      std::vector<int64_t> sizes{axis == 0 ? positions : batch, axis == 1 ? positions : axis == 0 ? batch : width, axis == 2 ? positions : width};
      std::vector<float> f = randomValues(batch * positions * width, 1), u = randomValues(batch * positions * width, 2), expected(f.size());
      for (size_t i = 0; i < f.size(); ++i) {
        int64_t stride = axis == 0 ? batch * width : axis == 1 ? width : 1;
        if (static_cast<int64_t>(i) / stride % positions == (isReversed ? positions - 1 : 0))
          walk(f, u, expected, i, positions, isReversed ? -stride : stride, 0.5f);
      }
      for (Isa isa : machineIsas())
        for (int threads : {1, 3}) {
          Kernel kernel = harness.compile(harness.find<mlir::xf::ScanOp>(), isa, {{1, 1, 1, 1}});
          std::vector<float> y(f.size(), -77), n(f.size(), -77);
          kernel({view(f, sizes), view(u, sizes), view(y, sizes), view(n, sizes)}, threads);
          for (size_t i = 0; i < y.size(); ++i)
            ASSERT_NEAR(y[i], expected[i], 1e-6) << isaName(isa).str() << " width " << width << " axis " << axis << " element " << i;
          EXPECT_EQ(isReversed ? n.front() : n.back(), positions);
          EXPECT_EQ(isReversed ? n.back() : n.front(), 1);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Direction, ScanTest, testing::Bool(), [](const auto &info) { return info.param ? "reversed" : "ascending"; });

TEST(ScanStepTest, StepsContinue) {
  std::string type = "tensor<?x?x20xf32, #xf.dims<\"B\", \"N\", \"\">>", past = "tensor<?xi32, #xf.dims<\"B\">>";
  KernelHarness harness(
      "module attributes {xf.bounds = {B = 8 : i64, N = 64 : i64}} {\nxf.state @s : tensor<?x20xf32, #xf.dims<\"B\", \"\">> layers 1\n"
      "xf.entry step @run(%f: " +
      type + " {xf.name = \"f\"}, %past: " + past + " {xf.name = \"p\"}) -> (" + type +
      " {xf.name = \"y\"}) {\n"
      "%layer = arith.constant 0 : index\n"
      "%y = xf.scan_step(%f) states [@s][%layer] past %past axis 1 init [1.0] : (" +
      type + "), " + past + " -> " + type +
      " {\n"
      "^bb0(%s: f32, %a: f32):\n%q = arith.addf %s, %a : f32\nxf.yield %q, %q : f32, f32\n}\nxf.return %y : " +
      type + "\n}\n}\n");
  for (Isa isa : machineIsas()) {
    Kernel kernel = harness.compile(harness.find<mlir::xf::ScanStepOp>(), isa, {{1, 1, 1, 1}});
    std::vector<float> state(4 * 20, 100.0f), y(4 * 3 * 20);
    std::vector<float> x(4 * 3 * 20, 1.0f);
    std::vector<int32_t> lengths{0, 3, 0, 1};
    for (int threads : {1, 2}) {
      std::fill(state.begin(), state.end(), 100.0f);
      kernel({view(x, {4, 3, 20}), view(lengths, {4}), view(y, {4, 3, 20}), view(state, {4, 20})}, threads);
      for (int i = 0; i < 4 * 20; ++i) {
        float before = lengths[i / 20] == 0 ? 1.0f : 100.0f;
        EXPECT_EQ(state[i], before + 3);
        for (int t = 0; t < 3; ++t)
          EXPECT_EQ(y[(i / 20 * 3 + t) * 20 + i % 20], before + t + 1);
      }
    }
  }
}

} // namespace
