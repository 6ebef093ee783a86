// Products with a bias, of the shapes of a Transformer, against what this machine can do at most: its multiply-adds and
// its memory, both measured in the same run. One thread.
//
//   xf-kernel-benchmark [--benchmark_filter=M:1/] …
//
// `of_peak` is the share of the multiply-add peak, `of_memory` the share of memory's reading speed that the weights, which
// do not stay in a cache between two calls, are read with.
#include "test/Target/CPU/KernelHarness.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <benchmark/benchmark.h>

#include <chrono>

using namespace xf::cpu;
using namespace xf::cpu::test;

namespace {

double secondsOf(llvm::function_ref<void()> work) {
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    auto start = std::chrono::steady_clock::now();
    work();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

constexpr int64_t kRounds = 10'000'000;
constexpr int kChains = 12;

// Twelve chains in registers of their own. The registers are named: a compiler that spilled one would measure memory.
#define XF_CHAINS(op, r)                                                                                        \
  op(r, 1) op(r, 2) op(r, 3) op(r, 4) op(r, 5) op(r, 6) op(r, 7) \
  op(r, 8) op(r, 9) op(r, 10) op(r, 11) op(r, 12)
#define XF_CLEAR(r, i) "vxorps %%ymm" #i ", %%ymm" #i ", %%ymm" #i "\n\t"
#define XF_MULTIPLY_ADD(r, i) "vfmadd231ps %%" r "0, %%" r "0, %%" r #i "\n\t"
#define XF_MEASURED_LOOP(r)                                                                                             \
  int64_t rounds = kRounds;                                                                                             \
  asm volatile("vxorps %%ymm0, %%ymm0, %%ymm0\n\t" XF_CHAINS(XF_CLEAR, r)                                             \
               "1:\n\t" XF_CHAINS(XF_MULTIPLY_ADD, r) "dec %0\n\tjnz 1b\n\tvzeroupper"                               \
               : "+r"(rounds)                                                                                           \
               :                                                                                                        \
               : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12")

void multiplyAdd512() { XF_MEASURED_LOOP("zmm"); }
void multiplyAdd256() { XF_MEASURED_LOOP("ymm"); }

/// Operations a second.
double peakOf(Isa isa) {
  if (isa == Isa::avx512)
    return 2.0 * 16 * kChains * kRounds / secondsOf(multiplyAdd512);
  if (isa == Isa::avx2)
    return 2.0 * 8 * kChains * kRounds / secondsOf(multiplyAdd256);
  return 0; // without multiply-add there is no such peak
}

/// Bytes a second, of more than any cache holds.
double readingSpeed() {
  std::vector<uint64_t> memory(size_t(256) << 17, 1);
  double seconds = secondsOf([&] {
    uint64_t sums[8] = {};
    for (size_t i = 0; i < memory.size(); i += 8)
      for (int lane = 0; lane < 8; ++lane)
        sums[lane] += memory[i + lane];
    benchmark::DoNotOptimize(sums);
  });
  return 8.0 * memory.size() / seconds;
}

std::string moduleText(int64_t columns, int64_t depth) {
  std::string n = std::to_string(columns), k = std::to_string(depth);
  std::string x = "tensor<?x" + k + "xf32, #xf.dims<\"B\", \"\">>", y = "tensor<?x" + n + "xf32, #xf.dims<\"B\", \"\">>";
  std::string w = "tensor<" + n + "x" + k + "xf32>", bias = "tensor<" + n + "xf32>";
  return "module attributes {xf.bounds = {B = 1024 : i64}} {\n"
         "xf.parameter @w : " + w + " path \"w\"\nxf.parameter @b : " + bias + " path \"b\"\n"
         "xf.entry @run(%x: " + x + " {xf.name = \"x\"}) -> (" + y + " {xf.name = \"y\"}) {\n"
         "%w = xf.param @w : " + w + "\n%b = xf.param @b : " + bias + "\n"
         "%y = xf.contract %x, %w extras(%b) maps [[1]] : " + x + ", " + w + " extras(" + bias + ") -> " + y + " {\n"
         "^bb0(%acc: f32, %bias: f32):\n%s = arith.addf %acc, %bias : f32\nxf.yield %s : f32\n}\n"
         "xf.return %y : " + y + "\n}\n}\n";
}

void product(benchmark::State &state, Isa isa, double peak, double speed) {
  int64_t rows = state.range(0), columns = state.range(1), depth = state.range(2);
  KernelHarness harness(moduleText(columns, depth));
  Kernel kernel = harness.compile(harness.find<mlir::xf::ContractOp>(), isa, {{1, 1, 1, 1}});
  // Weights are read in turn from so many copies that no cache keeps them, as a model's layers do.
  int64_t copies = std::max<int64_t>(1, (int64_t(96) << 20) / (columns * depth * 4));
  std::vector<float> packed(copies * columns * depth, 0.5f), x(rows * depth, 1.0f), bias(columns, 1.0f), y(rows * columns);
  int64_t turn = 0;
  for (auto _ : state) {
    float *weights = packed.data() + turn++ % copies * columns * depth;
    xf_abi_view weightView = view(bias, {columns, depth});
    weightView.data = weights;
    kernel({view(x, {rows, depth}), weightView, view(bias, {columns}), view(y, {rows, columns})});
  }
  double operations = 2.0 * rows * columns * depth * state.iterations(), bytes = 4.0 * columns * depth * state.iterations();
  state.counters["GFLOP/s"] = benchmark::Counter(operations * 1e-9, benchmark::Counter::kIsRate);
  if (peak > 0)
    state.counters["of_peak"] = benchmark::Counter(operations / peak, benchmark::Counter::kIsRate);
  state.counters["of_memory"] = benchmark::Counter(bytes / speed, benchmark::Counter::kIsRate);
}

} // namespace

int main(int argc, char **argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return 1;
  double speed = readingSpeed();
  for (Isa isa : machineIsas()) {
    double peak = peakOf(isa);
    llvm::outs() << isaName(isa) << ": multiply-add peak " << llvm::format("%.1f GFLOP/s, memory %.1f GB/s\n", peak * 1e-9, speed * 1e-9);
    auto *each = benchmark::RegisterBenchmark(("product/" + isaName(isa)).str().c_str(),
                                              [=](benchmark::State &state) { product(state, isa, peak, speed); });
    each->ArgNames({"M", "N", "K"})->Unit(benchmark::kMicrosecond);
    for (auto [columns, depth] : {std::pair(512, 512), std::pair(2048, 512), std::pair(512, 2048), std::pair(32000, 512)})
      for (int64_t rows : {1, 4, 8, 13, 32, 64, 128, 256, 1024})
        each->Args({rows, columns, depth});
  }
  llvm::outs().flush();
  benchmark::RunSpecifiedBenchmarks();
}
