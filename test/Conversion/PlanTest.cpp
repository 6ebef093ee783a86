// What a plan tells kernels, seen by kernels that only write it down.
#include "compiler/Conversion/XfToLLVM/Plan.h"
#include "compiler/Conversion/XfToLLVM/MemoryPlan.h"
#include "compiler/Target/CodeBuilder.h"
#include "test/Target/CPU/KernelHarness.h"

#include <gtest/gtest.h>

using namespace xf;
using namespace xf::cpu::test;

namespace {

/// A stack of three layers, each of two products, and a product behind it.
constexpr const char *kStack = R"(
#rows = #xf.dims<"B", "">
module attributes {xf.bounds = {B = 8 : i64}} {
  xf.parameter @up : tensor<64x16xf32> path "up.{0}" counts [3]
  xf.parameter @down : tensor<16x64xf32> path "down.{0}" counts [3]
  xf.parameter @out : tensor<40x16xf32> path "out"
  xf.weight @w.up : tensor<64x16xf32> layers 3 layout panels {
  ^bb0(%layer: index):
    %p = xf.param @up[%layer] : tensor<64x16xf32>
    xf.yield %p : tensor<64x16xf32>
  }
  xf.weight @w.down : tensor<16x64xf32> layers 3 layout panels {
  ^bb0(%layer: index):
    %p = xf.param @down[%layer] : tensor<16x64xf32>
    xf.yield %p : tensor<16x64xf32>
  }
  xf.weight @w.out : tensor<40x16xf32> layers 1 layout panels {
  ^bb0(%layer: index):
    %p = xf.param @out : tensor<40x16xf32>
    xf.yield %p : tensor<40x16xf32>
  }
  xf.entry full @run(%x: tensor<?x16xf32, #rows> {xf.name = "x"}) -> (tensor<?x40xf32, #rows> {xf.name = "y"}) {
    %last = xf.repeat 3(%x) : (tensor<?x16xf32, #rows>) -> tensor<?x16xf32, #rows> {
    ^bb0(%layer: index, %in: tensor<?x16xf32, #rows>):
      %u = xf.param @w.up[%layer] : tensor<64x16xf32>
      %wide = xf.contract %in, %u extras() maps [] : tensor<?x16xf32, #rows>, tensor<64x16xf32> -> tensor<?x64xf32, #rows> {
      ^bb0(%sum: f32):
        xf.yield %sum : f32
      }
      %d = xf.param @w.down[%layer] : tensor<16x64xf32>
      %narrow = xf.contract %wide, %d extras() maps [] : tensor<?x64xf32, #rows>, tensor<16x64xf32> -> tensor<?x16xf32, #rows> {
      ^bb0(%sum: f32):
        xf.yield %sum : f32
      }
      xf.yield %narrow : tensor<?x16xf32, #rows>
    }
    %o = xf.param @w.out : tensor<40x16xf32>
    %y = xf.contract %last, %o extras() maps [] : tensor<?x16xf32, #rows>, tensor<40x16xf32> -> tensor<?x40xf32, #rows> {
    ^bb0(%sum: f32):
      xf.yield %sum : f32
    }
    xf.return %y : tensor<?x40xf32, #rows>
  }
})";

struct Call {
  const void *weight, *following; // first panels
  int64_t panels, bytes;          // of the following weight: how many there are, and of one
};

struct Setting {
  std::vector<int64_t> dims;
  std::vector<void *> io;
  std::vector<xf_abi_state_view> states;
  const uint8_t *weights = nullptr;
};

/// Runs the first entry's plan with `kernel` in the place of each kernel; its context's runtime is `record`.
void runPlan(CodeModule &code, const Setting &setting, xf_abi_kernel_fn kernel, void *record) {
  std::string error;
  auto objects = cpu::emitObjects(*code.module, error);
  ASSERT_TRUE(mlir::succeeded(objects)) << error;
  auto linked = cpu::linkObjects(*objects, error);
  ASSERT_TRUE(mlir::succeeded(linked)) << error;
  MappedCode mapped(*linked);
  std::vector<const void *> kernels(code.kernels.size(), reinterpret_cast<const void *>(kernel));
  std::vector<uint8_t> workspace(code.workspaceBytes + 64);
  xf_abi_context context = {};
  context.dims = context.capacities = setting.dims.data();
  context.io = setting.io.data();
  context.states = setting.states.data();
  context.weights = setting.weights;
  context.workspace = workspace.data();
  context.kernels = kernels.data();
  context.runtime = record;
  context.threads = 1;
  mapped.at<xf_abi_entry_fn>(linked->symbols.lookup(code.plans[0]))(&context);
}

mlir::FailureOr<CodeModule> convert(KernelHarness &harness) {
  codegen::loadCodeDialects(&harness.context);
  harness.context.loadDialect<mlir::LLVM::LLVMDialect>();
  return convertToCode(*harness.root);
}

TEST(PlanTest, ProductsAreToldWhatFollows) {
  KernelHarness harness(kStack);
  auto code = convert(harness);
  ASSERT_TRUE(mlir::succeeded(code));
  std::vector<uint8_t> weights(code->layout.weightBytes);
  std::vector<float> x(5 * 16), y(5 * 40);
  std::vector<Call> calls;
  // What kernels get are x, a weight, the result, and the weight that follows.
  xf_abi_kernel_fn note = [](const xf_abi_context *context, const xf_abi_view *views, int64_t) {
    static_cast<std::vector<Call> *>(context->runtime)->push_back({views[1].data, views[3].data, views[3].size[0], views[3].stride[0]});
  };
  runPlan(*code, {std::vector<int64_t>(code->layout.dims.size(), 5), {x.data(), y.data()}, {}, weights.data()}, note, &calls);
  ASSERT_EQ(calls.size(), 7u);
  for (size_t i = 0; i + 1 < calls.size(); ++i) {
    EXPECT_EQ(calls[i].following, calls[i + 1].weight) << "call " << i;
    bool isUp = i % 2 == 1 && i < 5, isOut = i == 5;
    EXPECT_EQ(calls[i].panels, isUp ? 4 : isOut ? 3 : 1) << "call " << i;
    EXPECT_EQ(calls[i].bytes, (isUp || isOut ? 16 : 64) * 16 * 4) << "call " << i;
  }
  EXPECT_EQ(calls.back().panels, 0) << "nothing follows";
}

/// Only where a call reads more weights than a cache holds are products made for panels from memory.
TEST(PlanTest, ManyWeightsStream) {
  auto streams = [](std::string text, std::initializer_list<std::pair<llvm::StringRef, llvm::StringRef>> sizes) {
    for (auto [size, other] : sizes)
      for (size_t at = 0; (at = text.find(size, at)) != std::string::npos; at += other.size())
        text.replace(at, size.size(), other);
    KernelHarness harness(text);
    auto code = convert(harness);
    EXPECT_TRUE(mlir::succeeded(code)) << text;
    bool found = false;
    for (auto function : code->module->getOps<mlir::LLVM::LLVMFuncOp>())
      found |= function.getName().starts_with("xf.product.streams.");
    return found;
  };
  EXPECT_FALSE(streams(kStack, {}));
  // Three layers of two products of 4 and of 8 MiB.
  EXPECT_FALSE(streams(kStack, {{"x16", "x512"}, {"x64", "x2048"}, {"<16", "<512"}, {"<64", "<2048"}}));
  EXPECT_TRUE(streams(kStack, {{"x16", "x512"}, {"x64", "x4096"}, {"<16", "<512"}, {"<64", "<4096"}}));
}

/// A step whose attention appends.
constexpr const char *kAppending = R"(
#n = #xf.dims<"B", "", "N", "">
#t = #xf.dims<"B", "", "T", "">
module attributes {xf.bounds = {B = 2 : i64, N = 8 : i64, T = 8 : i64}} {
  xf.state @keys : tensor<?x2x?x4xf32, #t> layers 1 layout keys
  xf.state @values : tensor<?x2x?x4xf32, #t> layers 1 layout values
  xf.entry step @step(%x: tensor<?x2x?x4xf32, #n> {xf.name = "x"}, %past: tensor<?xi32, #xf.dims<"B">> {xf.name = "xf.past"}) -> (tensor<?x2x?x4xf32, #n> {xf.name = "y"}) {
    %zero = arith.constant 0 : index
    %k = xf.append %x to @keys[%zero] axis 2 past %past by_reader : tensor<?x2x?x4xf32, #n>, tensor<?xi32, #xf.dims<"B">> -> tensor<?x2x?x4xf32, #t>
    %v = xf.append %x to @values[%zero] axis 2 past %past by_reader : tensor<?x2x?x4xf32, #n>, tensor<?xi32, #xf.dims<"B">> -> tensor<?x2x?x4xf32, #t>
    %y = xf.attend %x, %k, %v scale 0.5 fill -1.0e9 : tensor<?x2x?x4xf32, #n>, tensor<?x2x?x4xf32, #t>, tensor<?x2x?x4xf32, #t> -> (tensor<?x2x?x4xf32, #n>)
    xf.return %y : tensor<?x2x?x4xf32, #n>
  }
})";

/// The arguments and states of a step of two rows, whose kernels compute nothing.
struct StepMemory {
  Setting setting(const CodeModule &code, int64_t positions) {
    std::vector<int64_t> dims(code.layout.dims.size(), 2);
    dims[code.layout.dims.lookup("N")] = positions;
    xf_abi_state_view place = {};
    place.data = reinterpret_cast<uint8_t *>(state.data());
    return {dims, {given.data(), past.data(), result.data()}, {place, place}};
  }
  std::vector<float> given = std::vector<float>(64), result = given, state = std::vector<float>(256);
  std::vector<int32_t> past = std::vector<int32_t>(2);
};

TEST(PlanTest, OnePositionIsLeftToItsReader) {
  KernelHarness harness(kAppending);
  auto code = convert(harness);
  ASSERT_TRUE(mlir::succeeded(code));
  ASSERT_EQ(code->kernels.size(), 3u);
  StepMemory memory;
  for (int64_t positions : {1, 2}) {
    std::vector<int64_t> called;
    xf_abi_kernel_fn note = [](const xf_abi_context *context, const xf_abi_view *, int64_t number) {
      static_cast<std::vector<int64_t> *>(context->runtime)->push_back(number);
    };
    runPlan(*code, memory.setting(*code, positions), note, &called);
    EXPECT_EQ(called, positions == 1 ? std::vector<int64_t>{2} : (std::vector<int64_t>{0, 1, 2}));
  }
}

/// The same with keys and values that are rows of their own, and a row behind attention.
constexpr const char *kAppendingRows = R"(
#n = #xf.dims<"B", "", "N", "">
#t = #xf.dims<"B", "", "T", "">
module attributes {xf.bounds = {B = 2 : i64, N = 8 : i64, T = 8 : i64}} {
  xf.state @keys : tensor<?x2x?x4xf32, #t> layers 1 layout keys
  xf.state @values : tensor<?x2x?x4xf32, #t> layers 1 layout values
  xf.entry step @step(%q: tensor<?x2x?x4xf32, #n> {xf.name = "q"}, %past: tensor<?xi32, #xf.dims<"B">> {xf.name = "xf.past"}) -> (tensor<?x2x?x4xf32, #n> {xf.name = "z"}) {
    %zero = arith.constant 0 : index
    %x0 = xf.row(%q) maps [[0, 1, 2, 3]] : (tensor<?x2x?x4xf32, #n>) -> tensor<?x2x?x4xf32, #n> {
    ^bb0(%row: tensor<4xf32>):
      xf.yield %row : tensor<4xf32>
    }
    %x1 = xf.row(%q) maps [[0, 1, 2, 3]] : (tensor<?x2x?x4xf32, #n>) -> tensor<?x2x?x4xf32, #n> {
    ^bb0(%row: tensor<4xf32>):
      xf.yield %row : tensor<4xf32>
    }
    %k = xf.append %x0 to @keys[%zero] axis 2 past %past by_reader : tensor<?x2x?x4xf32, #n>, tensor<?xi32, #xf.dims<"B">> -> tensor<?x2x?x4xf32, #t>
    %v = xf.append %x1 to @values[%zero] axis 2 past %past by_reader : tensor<?x2x?x4xf32, #n>, tensor<?xi32, #xf.dims<"B">> -> tensor<?x2x?x4xf32, #t>
    %y = xf.attend %q, %k, %v scale 0.5 fill -1.0e9 : tensor<?x2x?x4xf32, #n>, tensor<?x2x?x4xf32, #t>, tensor<?x2x?x4xf32, #t> -> (tensor<?x2x?x4xf32, #n>)
    %z = xf.row(%y) maps [[0, 1, 2, 3]] : (tensor<?x2x?x4xf32, #n>) -> tensor<?x2x?x4xf32, #n> {
    ^bb0(%row: tensor<4xf32>):
      xf.yield %row : tensor<4xf32>
    }
    xf.return %z : tensor<?x2x?x4xf32, #n>
  }
})";

TEST(PlanTest, WhatIsAppendedLivesUntilItsReaderIsDone) {
  KernelHarness harness(kAppendingRows);
  auto code = convert(harness);
  ASSERT_TRUE(mlir::succeeded(code));
  StepMemory memory;
  // Attention gets q, keys, what is appended, past, the same of values, and its result.
  std::vector<std::vector<const void *>> calls;
  xf_abi_kernel_fn note = [](const xf_abi_context *context, const xf_abi_view *views, int64_t) {
    auto &list = static_cast<std::vector<std::vector<const void *>> *>(context->runtime)->emplace_back();
    for (unsigned i = 0; i < 8; ++i)
      list.push_back(views[i].data);
  };
  runPlan(*code, memory.setting(*code, /*positions=*/1), note, &calls);
  ASSERT_EQ(calls.size(), 4u);
  const void *keys = calls[0][1], *values = calls[1][1], *context = calls[3][0];
  EXPECT_EQ(calls[2][2], keys);
  EXPECT_EQ(calls[2][5], values);
  EXPECT_EQ(calls[2][7], context);
  EXPECT_TRUE(keys != values && keys != context && values != context);
}

/// Two rows, the first of which is kept for the second.
constexpr const char *kRows = R"(
#rows = #xf.dims<"B", "">
module attributes {xf.bounds = {B = 2 : i64}} {
  xf.entry full @run(%x: tensor<?x160xf32, #rows> {xf.name = "x"}) -> (tensor<?x160xf32, #rows> {xf.name = "z"}) {
    %y = xf.row(%x) maps [[0, 1]] : (tensor<?x160xf32, #rows>) -> tensor<?x160xf32, #rows> {
    ^bb0(%row: tensor<160xf32>):
      %sum = xf.reduce sum %row : tensor<160xf32> -> tensor<1xf32>
      %centred = xf.map(%row, %sum) maps [[0], [-1]] : (tensor<160xf32>, tensor<1xf32>) -> tensor<160xf32> {
      ^bb0(%a: f32, %b: f32):
        %c = arith.subf %a, %b : f32
        xf.yield %c : f32
      }
      xf.yield %centred : tensor<160xf32>
    }
    %z = xf.row(%y) maps [[0, 1]] : (tensor<?x160xf32, #rows>) -> tensor<?x160xf32, #rows> {
    ^bb0(%row: tensor<160xf32>):
      xf.yield %row : tensor<160xf32>
    }
    xf.return %z : tensor<?x160xf32, #rows>
  }
})";

TEST(PlanTest, WhatAKernelComputesInsideTakesNoWorkspace) {
  KernelHarness harness(kRows);
  MemoryPlan plan = planMemory(harness.find<mlir::xf::EntryOp>());
  EXPECT_EQ(plan.slots.size(), 1u);
  EXPECT_EQ(plan.bytes, 2 * 160 * 4);
}

} // namespace
