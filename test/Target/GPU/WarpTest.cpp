// What all lanes of a warp must come to together stays where it is, whatever LLVM makes of the code around it.
#include "compiler/Target/GPU/TensorCore.h"
#include "runtime/device/emulator/emulator.h"

#include <gtest/gtest.h>

using namespace xf;
using mlir::Value;

namespace {

/// Runs a kernel of one view, y f32[32], with a warp.
std::vector<float> run(llvm::function_ref<void(gpu::GpuBuilder &)> body) {
  mlir::MLIRContext context;
  auto module = gpu::makeKernelModule(&context);
  gpu::GpuBuilder b(*module->getOps<mlir::gpu::GPUModuleOp>().begin(), "k", 1, gpu::kWarp, mlir::UnknownLoc::get(&context));
  body(b);
  b.finish();
  std::string error;
  auto ptx = gpu::emitPtx(*module, error);
  EXPECT_TRUE(mlir::succeeded(ptx)) << error;
  std::vector<float> y(gpu::kWarp, -1);
  xf_abi_view view{};
  view.data = y.data();
  view.size[0] = gpu::kWarp, view.stride[0] = 1;
  rt::emulator::program program = rt::emulator::parse_ptx(*ptx);
  rt::emulator::global_memory memory;
  memory.adopt(reinterpret_cast<uint64_t>(y.data()), reinterpret_cast<uint64_t>(y.data() + y.size()));
  rt::emulator::run_kernel(program.functions.at("k"), memory, {&view, sizeof(view), 1, gpu::kWarp});
  return y;
}

TEST(Warp, ProductsStayOutsideOfBranches) {
  for (bool isBrain : {true, false}) {
    auto y = run([&](gpu::GpuBuilder &b) {
      mlir::Type factor = isBrain ? mlir::Type(b.getBF16Type()) : b.getF16Type();
      Value ones = b.create<mlir::arith::ConstantIntOp>(isBrain ? 0x3f803f80 : 0x3c003c00, 32);
      auto sums = gpu::multiplyTiles(b, factor, llvm::SmallVector<Value>(4, ones), {ones, ones}, llvm::SmallVector<Value>(4, b.f32(0)));
      b.ifThen(b.less(b.lane(), b.i64(5)), [&] { b.store(sums[0], b.at(b.data(0), b.lane(), b.getF32Type())); });
    });
    for (int lane = 0; lane < gpu::kWarp; ++lane)
      EXPECT_EQ(y[lane], lane < 5 ? 16 : -1) << lane;
  }
}

/// Of the paths that come to a product none gets one of its own, though they know which way they part behind it.
TEST(Warp, ProductsAreNotDoubled) {
  auto y = run([&](gpu::GpuBuilder &b) {
    Value own = b.at(b.data(0), b.lane(), b.getF32Type()), few = b.less(b.lane(), b.i64(5));
    Value word = b.create<mlir::arith::TruncIOp>(b.getI32Type(), b.thread());
    b.ifThen(few, [&] { b.store(b.f32(1), own); });
    auto sums = gpu::multiplyTiles(b, b.getBF16Type(), llvm::SmallVector<Value>(4, word), {word, word}, llvm::SmallVector<Value>(4, b.f32(2)));
    b.ifThen(few, [&] { b.store(sums[0], own); });
  });
  EXPECT_EQ(y[0], 2) << "products of numbers that are next to zero";
  EXPECT_EQ(y[5], -1);
}

TEST(Warp, ExchangesStayOutsideOfBranches) {
  auto valueOf = [](llvm::function_ref<Value(gpu::GpuBuilder &)> exchange) {
    return run([&](gpu::GpuBuilder &b) {
      Value result = b.create<mlir::arith::SIToFPOp>(b.getF32Type(), exchange(b));
      b.ifThen(b.less(b.lane(), b.i64(5)), [&] { b.store(result, b.at(b.data(0), b.lane(), b.getF32Type())); });
    });
  };
  auto other = valueOf([](gpu::GpuBuilder &b) { return b.shuffleXor(b.narrow(b.thread()), 1); });
  auto third = valueOf([](gpu::GpuBuilder &b) { return b.fromLane(b.narrow(b.thread()), 3); });
  auto greatest = valueOf([](gpu::GpuBuilder &b) { return b.warpMax(b.narrow(b.sub(b.thread(), 40))); });
  auto few = valueOf([](gpu::GpuBuilder &b) { return b.ballot(b.less(b.thread(), b.i64(3))); });
  for (int lane = 0; lane < gpu::kWarp; ++lane) {
    bool stores = lane < 5;
    EXPECT_EQ(other[lane], stores ? lane ^ 1 : -1) << lane;
    EXPECT_EQ(third[lane], stores ? 3 : -1) << lane;
    EXPECT_EQ(greatest[lane], stores ? -9 : -1) << lane;
    EXPECT_EQ(few[lane], stores ? 7 : -1) << lane;
  }
}

} // namespace
