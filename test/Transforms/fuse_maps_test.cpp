// Twice as many operations take about twice the work, counted in allocations: a test in seconds would depend on the machine.
#include "compiler/Transforms/Passes.h"
#include "dialect/IR/Xf.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"

#include <atomic>

static std::atomic<long> allocations = 0;

// Sanitizers bring an allocator of their own: then nothing is counted.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern "C" {
void *__libc_malloc(size_t size);
void *malloc(size_t size) {
  ++allocations;
  return __libc_malloc(size);
}
}
#endif

namespace {

/// The allocations of fusing a sum of `count` products.
long countForSum(int count) {
  std::string type = "tensor<?x64xf32, #rows>", text = R"(#rows = #xf.dims<"B", "">
    module attributes {xf.bounds = {B = 8 : i64}} {
    xf.entry full @run(%s0: )" + type + R"( {xf.name = "x"}) -> ()" +
                                                       type + R"( {xf.name = "y"}) {
  )";
  for (int i = 0; i < count; ++i) {
    std::string number = std::to_string(i), next = std::to_string(i + 1);
    text += "%p" + number + " = xf.map(%s0) maps [[0, 1]] : (" + type + ") -> " + type +
            " {\n^bb0(%x: f32):\n%y = arith.mulf %x, %x : f32\nxf.yield %y : f32\n}\n";
    text += "%s" + next + " = xf.map(%s" + number + ", %p" + number + ") maps [[0, 1], [0, 1]] : (" + type + ", " + type + ") -> " + type +
            " {\n^bb0(%a: f32, %b: f32):\n%c = arith.addf %a, %b : f32\nxf.yield %c : f32\n}\n";
  }
  text += "xf.return %s" + std::to_string(count) + " : " + type + "\n}\n}\n";
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<mlir::xf::XfDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  mlir::PassManager passes(&context);
  passes.addPass(xf::createXfFuseMaps());
  long before = allocations;
  EXPECT_TRUE(module && mlir::succeeded(passes.run(*module)));
  return allocations - before;
}

TEST(FuseMapsTest, LongSumsTakeLinearWork) {
  long some = countForSum(200), twice = countForSum(400);
  EXPECT_LE(twice, 3 * some);
}

} // namespace
