// Products of the shapes of a Transformer, of every type, against what this machine can do at most: the instruction that
// multiplies, and its memory. One thread.
//
//   xf-kernel-benchmark [--benchmark_filter='f32/avx512/.*/M=(1|64)/'] [other options of Google Benchmark]
//
// A row's product, its peak and its memory are measured in turn, so that other load on the machine affects all three.
// Time is the mean; the counters take the best of each: %peak is the share of the peak of multiplications and additions,
// %mem the speed at which the weights, which do not stay in a cache between two calls, are read, as a share of that at which
// memory can be. Products are compared with plain loops before they are timed; one that is wrong ends the program.
#include "test/Target/CPU/FactorData.h"
#include "test/benchmark/Peak.h"

#include <benchmark/benchmark.h>

#include <sys/mman.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <numeric>

using namespace xf::cpu;
using namespace xf::cpu::test;
using namespace xf::benchmark;

namespace {

constexpr int kRounds = 9;
/// What the calls of a measurement take at least, so that the clock does not matter.
constexpr double kSeconds = 0.004;

double secondsOf(llvm::function_ref<void()> work) {
  auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// A type with an instruction set that has kernels for it.
struct Kind {
  std::string name;
  Factor factor;
  Isa isa;
  Peak peak;
};

std::vector<Kind> kindsOfMachine() {
  std::vector<Kind> all = {{"f32/avx2", Factor::f32, Isa::avx2, kMultiplyAdd256},
                           {"f32/avx512", Factor::f32, Isa::avx512, kMultiplyAdd512},
                           {"int8-weights/avx2", Factor::i8_weights, Isa::avx2, kMultiplyAdd256},
                           {"int8-weights/avx512", Factor::i8_weights, Isa::avx512, kMultiplyAdd512},
                           {"bf16/avx512", Factor::bf16, Isa::avx512, kMultiplyAdd512},
                           {"bf16/avx512_bf16", Factor::bf16, Isa::avx512_bf16, kMultiplyAddBF16},
                           {"int8/avx2", Factor::i8, Isa::avx2, kMultiplyAddSplitBytes256},
                           {"int8/avx2_vnni", Factor::i8, Isa::avx2_vnni, kMultiplyAddBytes256},
                           {"int8/avx512_vnni", Factor::i8, Isa::avx512_vnni, kMultiplyAddBytes}};
  llvm::erase_if(all, [](const Kind &kind) { return !machineHas(kind.isa); });
  return all;
}

int64_t bytesOf(const std::string &type) { return type == "i8" ? 1 : type == "bf16" ? 2 : 4; }

/// Elements from row to row, as the compiler chooses it for tensors between kernels: not a multiple of 4096 bytes, which
/// would have all rows share a set of the first-level cache.
int64_t pitchOf(int64_t width, int64_t bytes) { return width * bytes % 4096 == 0 ? width + 64 / bytes : width; }

/// Values that are small and not the same, whatever the type: as f32 and bf16 0.008 to 0.03, with a sign.
void fillWithValues(uint64_t *words, size_t count) {
  uint64_t state = 1;
  for (uint64_t &word : llvm::MutableArrayRef(words, count)) {
    state = state * 6364136223846793005 + 1442695040888963407;
    word = ((state ^ state >> 29) & 0x80ff80ff80ff80ff) | 0x3c003c003c003c00;
  }
}

/// Such values, in huge pages as a model's weights are: in small ones, a product that reads them takes some 15 % longer, and
/// other ways to prefetch them win.
class Weights {
public:
  explicit Weights(size_t bytes) : bytes(llvm::alignTo(bytes, kHugePage) + kHugePage) {
    mapping = mmap(nullptr, this->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED)
      llvm::report_fatal_error("no memory for weights");
    words = reinterpret_cast<uint64_t *>(llvm::alignTo(reinterpret_cast<uintptr_t>(mapping), kHugePage));
    count = bytes / sizeof(uint64_t);
    madvise(words, this->bytes - kHugePage, MADV_HUGEPAGE);
    fillWithValues(words, count);
  }
  Weights(const Weights &) = delete;
  ~Weights() { munmap(mapping, bytes); }
  uint64_t *data() { return words; }
  size_t size() const { return count; }

private:
  static constexpr size_t kHugePage = size_t(2) << 20;
  size_t bytes, count;
  void *mapping;
  uint64_t *words;
};

/// One product, and the operands of calls that read their weights in turn from so many copies that no cache keeps them, as
/// a model's layers do.
class Product {
public:
  Product(const Kind &kind, int64_t rows, int64_t columns, int64_t depth)
      : kind(kind), rows(rows), columns(columns), depth(depth), xBytes(bytesOf(typesOf(kind.factor).x)),
        weightBytes(columns * depth * bytesOf(typesOf(kind.factor).weight)), copies(std::max<int64_t>(2, (int64_t(96) << 20) / weightBytes)),
        harness(factorContractText(columns, depth, kind.factor)),
        kernel(harness.compile(harness.find<mlir::xf::ContractOp>(), kind.isa, {{1, 1, 1, 1, 1, 1}, /*weightsStream=*/true}, /*isAlone=*/true)),
        weights(copies * weightBytes), x(rows * pitchOf(depth, xBytes) * xBytes / 8 + 8), scales(randomValues(rows, 1)),
        columnScales(randomValues(columns, 2)), y(rows * pitchOf(columns, 4)), sums(columns) {
    fillWithValues(x.data(), x.size());
    std::iota(sums.begin(), sums.end(), 3);
  }

  /// Ends the program where elements of a call's result are not what plain loops make of its operands.
  void check(llvm::StringRef name) {
    kernel.inTurn({operands(1)});
    for (int64_t row : {int64_t(0), rows / 2, rows - 1})
      for (int64_t column : {int64_t(0), int64_t(17), columns / 2 + 5, columns - 1}) {
        double sum = 0, size = 0;
        for (int64_t k = 0; k < depth; ++k) {
          double term = factorAt(row, k) * weightAt(1, column, k);
          sum += term;
          size += std::fabs(term);
        }
        if (kind.factor == Factor::i8) // as the module has it, whose x are bytes with 128 added
          sum -= 128.0 * sums[column];
        double scale = double(scales[row]) * columnScales[column], wanted = sum * scale;
        double got = y[row * pitchOf(columns, 4) + column], allowed = 1e-5 * size * std::fabs(scale);
        if (!(std::fabs(got - wanted) <= allowed)) {
          llvm::errs() << name << ": row " << row << ", column " << column << " is " << got << ", not " << wanted << "\n";
          std::exit(1);
        }
      }
  }

  double operations() const { return 2.0 * rows * columns * depth; }
  double bytes() const { return weightBytes; }

  /// Seconds of a call.
  double measure() {
    double seconds = 0;
    int64_t count = 0;
    while (seconds < kSeconds) {
      // A few calls each time: the clock and the scratch memory cost something, too.
      std::vector<std::vector<xf_abi_view>> calls;
      for (int i = 0; i < 8 && (i == 0 || operations() < 1e8); ++i)
        calls.push_back(operands(turn++ % copies));
      seconds += secondsOf([&] { kernel.inTurn(calls); });
      count += calls.size();
    }
    return seconds / count;
  }

  /// Bytes a second that a loop which does nothing else reads of the weights, from one place or from eight in turn.
  double readingSpeed() {
    // The other half each time: no cache has it any more.
    size_t half = weights.size() / 2;
    uint64_t sum = 0, *start = weights.data() + (reads % 2) * half;
    double seconds = secondsOf([&] { sum = reads % 4 < 2 ? readLines<1>(start, half) : readLines<8>(start, half); });
    ++reads;
    benchmark::DoNotOptimize(sum);
    return 8.0 * half / seconds;
  }

private:
  template <typename T> T xAt(int64_t row, int64_t k) const { return reinterpret_cast<const T *>(x.data())[row * pitchOf(depth, sizeof(T)) + k]; }
  double factorAt(int64_t row, int64_t k) const {
    if (kind.factor == Factor::bf16)
      return toFloat(xAt<uint16_t>(row, k));
    return kind.factor == Factor::i8 ? xAt<uint8_t>(row, k) : xAt<float>(row, k);
  }

  /// Panels have 16 columns, whose groups of elements, each of 4 bytes, lie side by side.
  template <typename T> T packedAt(int64_t copy, int64_t column, int64_t k) {
    constexpr int64_t kGroup = 4 / sizeof(T);
    auto *panels = reinterpret_cast<const T *>(weights.data() + copy * (weightBytes / 8));
    return panels[((column / 16 * (depth / kGroup) + k / kGroup) * 16 + column % 16) * kGroup + k % kGroup];
  }
  double weightAt(int64_t copy, int64_t column, int64_t k) {
    if (kind.factor == Factor::bf16)
      return toFloat(packedAt<uint16_t>(copy, column, k));
    return kind.factor == Factor::f32 ? packedAt<float>(copy, column, k) : packedAt<int8_t>(copy, column, k);
  }

  /// The last operand is the next call's weights.
  std::vector<xf_abi_view> operands(int64_t copy) {
    int64_t panels = llvm::divideCeil(columns, 16);
    return {view(x.data(), {rows, depth}, {pitchOf(depth, xBytes), 1}),
            view(weights.data() + copy * (weightBytes / 8), {columns, depth}),
            view(scales, {rows, 1}),
            view(columnScales, {columns}),
            view(sums, {columns}),
            view(y, {rows, columns}, {pitchOf(columns, 4), 1}),
            view(weights.data() + (copy + 1) % copies * (weightBytes / 8), {panels}, {weightBytes / panels})};
  }

  const Kind &kind;
  int64_t rows, columns, depth, xBytes, weightBytes, copies;
  KernelHarness harness;
  Kernel kernel;
  Weights weights;
  std::vector<uint64_t> x;
  std::vector<float> scales, columnScales, y;
  std::vector<int32_t> sums;
  int64_t turn = 0;
  int64_t reads = 0;
};

/// Reports the product as Google Benchmark's time, the limits and the shares of them as counters.
void measure(benchmark::State &state, llvm::StringRef name, const Kind &kind, int64_t rows, int64_t columns, int64_t depth) {
  Product product(kind, rows, columns, depth);
  product.check(name);
  double seconds = 1e9, peak = 0, speed = 0;
  for (auto round : state) {
    double now = product.measure();
    state.SetIterationTime(now);
    seconds = std::min(seconds, now);
    peak = std::max(peak, kind.peak.operations / secondsOf(kind.peak.run));
    speed = std::max(speed, product.readingSpeed());
  }
  state.counters["best_us"] = seconds * 1e6;
  state.counters["GOP/s"] = product.operations() / seconds * 1e-9;
  state.counters["peak"] = peak * 1e-9;
  state.counters["%peak"] = 100 * product.operations() / seconds / peak;
  state.counters["mem_GB/s"] = speed * 1e-9;
  state.counters["%mem"] = 100 * product.bytes() / seconds / speed;
}

void registerAll() {
  for (const Kind &kind : kindsOfMachine())
    for (auto [columns, depth] : {std::pair(512, 512), std::pair(2048, 512), std::pair(512, 2048), std::pair(32000, 512), std::pair(1024, 4096)})
      for (int64_t rows : {1, 2, 3, 4, 8, 16, 32, 64, 256}) {
        std::string name = kind.name + "/" + std::to_string(columns) + "x" + std::to_string(depth) + "/M=" + std::to_string(rows);
        benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State &state) { measure(state, name, kind, rows, columns, depth); })
            ->UseManualTime()
            ->Iterations(kRounds)
            ->Unit(benchmark::kMicrosecond);
      }
}

} // namespace

int main(int argc, char **argv) {
  registerAll();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
