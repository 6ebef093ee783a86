// Runs single kernels: compiles one from the text of a module, maps it, and calls it thread by thread.
#ifndef XF_TEST_TARGET_CPU_KERNELHARNESS_H
#define XF_TEST_TARGET_CPU_KERNELHARNESS_H

#include "compiler/Target/CPU/AttendWords.h"
#include "compiler/Target/CPU/Lower.h"
#include "runtime/abi/xf_abi.h"

#include "gtest/gtest.h"
#include "mlir/Parser/Parser.h"

#include <barrier>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <sys/mman.h>
#include <thread>
#include <vector>

namespace xf::cpu::test {

#ifdef XF_TEST_GPU_KERNELS
} // namespace xf::cpu::test
#include "test/Target/GPU/EmulatedKernel.h"
namespace xf::cpu::test {
using xf::gpu::test::Kernel;
/// Stands for the GPU, whose kernels take the place of the CPU's.
inline std::vector<Isa> machineIsas() { return {Isa::avx2}; }
inline std::vector<Isa> runnableIsas(mlir::Operation *) { return machineIsas(); }
inline bool takesWords(Isa, mlir::Operation *) { return false; }
#else
/// The general instruction sets that this machine can run.
inline std::vector<Isa> machineIsas() {
  std::vector<Isa> isas = {Isa::baseline};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    isas.push_back(Isa::avx2);
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq"))
    isas.push_back(Isa::avx512);
  return isas;
}

inline bool hasAvxVnni() { return machineIsas().back() >= Isa::avx2 && __builtin_cpu_supports("avxvnni"); }

/// Whether this machine can run an instruction set, also one made for some products.
inline bool machineHas(Isa isa) {
  bool general = machineIsas().back() == Isa::avx512, vnni = __builtin_cpu_supports("avx512vnni");
  if (isa == Isa::avx512_vnni)
    return general && vnni;
  if (isa == Isa::avx512_bf16)
    return general && vnni && __builtin_cpu_supports("avx512bf16");
  // Where AVX-VNNI is lacking, AVX-512 VNNI has its instructions, too, of other encodings.
  if (isa == Isa::avx2_vnni)
    return hasAvxVnni() || (general && vnni);
  return isa <= machineIsas().back();
}

/// Those that have a kernel of their own for `op` and that this machine can run.
inline std::vector<Isa> runnableIsas(mlir::Operation *op) {
  std::vector<Isa> isas;
  for (Isa isa : kernelIsas(op))
    if (machineHas(isa))
      isas.push_back(isa);
  return isas;
}

/// Whether attention `op` is multiplied in words.
inline bool takesWords(Isa isa, mlir::Operation *op) { return attendsByWords(isa, mlir::cast<mlir::xf::AttendOp>(op)); }

/// Code, mapped readable and executable. Where it lies is not known when it is linked.
class MappedCode {
public:
  explicit MappedCode(const Code &code) : size(code.bytes.size() + 1) {
    memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::memcpy(memory, code.bytes.data(), code.bytes.size());
    mprotect(memory, size, PROT_READ | PROT_EXEC);
  }
  MappedCode(const MappedCode &) = delete;
  MappedCode &operator=(const MappedCode &) = delete;
  ~MappedCode() { munmap(memory, size); }

  template <typename Function> Function at(uint64_t offset) const {
    return reinterpret_cast<Function>(static_cast<char *>(memory) + offset);
  }

private:
  size_t size;
  void *memory;
};

/// A kernel, ready to be called.
class Kernel {
public:
  Kernel(const Code &code, llvm::StringRef name, int64_t scratchBytes)
      : mapped(std::make_shared<MappedCode>(code)), scratchBytes(scratchBytes) {
    function = mapped->at<xf_abi_kernel_fn>(code.symbols.lookup(name));
  }

  /// The threads run one after the other, each with scratch memory of its own, full of NaN.
  void operator()(const std::vector<xf_abi_view> &views, int threads = 1) const {
    for (int thread = 0; thread < threads; ++thread)
      run(views, thread, threads, nullptr);
  }

  /// One call after the other, on one thread, with nothing between them that a measurement would see. Views of products include
  /// that of the following product's weights.
  void inTurn(llvm::ArrayRef<std::vector<xf_abi_view>> calls) const {
    Scratch scratch(scratchBytes);
    xf_abi_context context = contextOf(scratch, 0, 1, nullptr);
    for (auto &views : calls)
      function(&context, views.data(), 0);
  }

  /// The threads run at the same time, for kernels in which they wait for each other.
  void together(const std::vector<xf_abi_view> &views, int threads) const {
    std::barrier<> all(threads);
    std::vector<std::thread> others;
    for (int thread = 1; thread < threads; ++thread)
      others.emplace_back([&, thread] { run(views, thread, threads, &all); });
    run(views, 0, threads, &all);
    for (std::thread &other : others)
      other.join();
  }

private:
  /// A thread's memory, aligned, full of NaN and with room behind it.
  struct Scratch {
    explicit Scratch(int64_t bytes) : memory(bytes / 4 + 64, std::numeric_limits<float>::quiet_NaN()) {}
    uintptr_t start() const { return (reinterpret_cast<uintptr_t>(memory.data()) + 63) / 64 * 64; }
    uintptr_t end() const { return reinterpret_cast<uintptr_t>(memory.data() + memory.size()); }
    std::vector<float> memory;
  };

  static xf_abi_context contextOf(const Scratch &scratch, int thread, int threads, std::barrier<> *all) {
    xf_abi_context context = {};
    context.scratch = reinterpret_cast<uint8_t *>(scratch.start());
    context.thread = thread;
    context.threads = threads;
    context.runtime = all;
    context.barrier = [](const xf_abi_context *c) { static_cast<std::barrier<> *>(c->runtime)->arrive_and_wait(); };
    return context;
  }

  void run(std::vector<xf_abi_view> views, int thread, int threads, std::barrier<> *all) const {
    views.push_back({}); // there is no following product
    Scratch scratch(scratchBytes);
    xf_abi_context context = contextOf(scratch, thread, threads, all);
    function(&context, views.data(), 0);
    for (uintptr_t i = scratch.start() + scratchBytes; i + 4 <= scratch.end(); i += 4)
      ASSERT_TRUE(std::isnan(*reinterpret_cast<float *>(i))) << "the kernel writes behind its scratch memory";
  }

  std::shared_ptr<MappedCode> mapped;
  int64_t scratchBytes;
  xf_abi_kernel_fn function;
};

#endif // XF_TEST_GPU_KERNELS

/// A module and kernels made from ops in it.
class KernelHarness {
public:
  explicit KernelHarness(llvm::StringRef text) {
    context.loadDialect<mlir::xf::XfDialect>();
    root = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (!root)
      throw std::runtime_error("the test's module does not parse");
  }

  /// The module's first op of a kind.
  template <typename Op> Op find() {
    Op found;
    root->walk([&](Op op) {
      found = op;
      return mlir::WalkResult::interrupt();
    });
    if (!found)
      throw std::runtime_error("the test's module lacks the op");
    return found;
  }

#ifdef XF_TEST_GPU_KERNELS
  Kernel compile(mlir::Operation *op, Isa, KernelAccess access) { return Kernel(op, access, *root); }
#else
  Kernel compile(mlir::Operation *op, Isa isa, KernelAccess access) {
    std::string error;
    std::string name = ("kernel." + isaName(isa)).str();
    auto module = emit(op, isa, access, name);
    auto object = isa == Isa::avx2_vnni && !hasAvxVnni() ? emitForAvx512(*module, error) : emitObject(*module, error);
    if (mlir::failed(object))
      throw std::runtime_error(error);
    auto code = linkObject((*object)->getMemBufferRef(), error);
    if (mlir::failed(code) || !code->symbols.contains(name))
      throw std::runtime_error("linking failed: " + error);
    return Kernel(*code, name, kernelScratchBytes(op, *root));
  }

  /// emitObject, but that the functions' LLVM IR becomes instructions of AVX-512 VNNI.
  static mlir::FailureOr<std::unique_ptr<llvm::MemoryBuffer>> emitForAvx512(mlir::ModuleOp module, std::string &error) {
    std::unique_ptr<llvm::TargetMachine> machine = makeTargetMachine(error);
    llvm::LLVMContext context;
    std::unique_ptr<llvm::Module> code = lowerToLLVM(module, context, *machine, error);
    if (!code)
      return mlir::failure();
    for (llvm::Function &function : *code)
      if (!function.isDeclaration()) {
        function.addFnAttr("target-cpu", "x86-64-v4");
        function.addFnAttr("target-features", "+avx512vnni");
      }
    return emitObject(*code, *machine, error);
  }
#endif

  mlir::OwningOpRef<mlir::ModuleOp> emit(mlir::Operation *op, Isa isa, const KernelAccess &access,
                                         llvm::StringRef name) {
    mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
    if (mlir::failed(emitKernel(*module, name, op, access, isa, *root)))
      throw std::runtime_error("the kernel cannot be emitted");
    return module;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> root;
};

/// A view; without strides it is dense.
inline xf_abi_view view(void *data, std::vector<int64_t> sizes, std::vector<int64_t> strides = {}) {
  xf_abi_view result;
  std::memset(&result, 0x5a, sizeof(result)); // what lies behind the rank is nobody's business
  result.data = data;
  int64_t dense = 1;
  for (size_t i = sizes.size(); i-- > 0; dense *= sizes[i]) {
    result.size[i] = sizes[i];
    result.stride[i] = strides.empty() ? dense : strides[i];
  }
  return result;
}
template <typename T>
xf_abi_view view(std::vector<T> &data, std::vector<int64_t> sizes, std::vector<int64_t> strides = {}) {
  return view(data.data(), std::move(sizes), std::move(strides));
}

/// Numbers between -1 and 1, the same for every run.
inline std::vector<float> randomNumbers(size_t count, uint32_t seed = 1) {
  std::mt19937 generator(seed);
  std::vector<float> numbers(count);
  for (float &number : numbers)
    number = static_cast<float>(generator()) / 2147483648.0f - 1.0f;
  return numbers;
}

/// A weight [N, K] in panels [ceil(N/16)][K][16].
inline std::vector<float> packPanels(const std::vector<float> &weight, int64_t columns, int64_t depth) {
  std::vector<float> packed((columns + 15) / 16 * depth * 16, 0.0f);
  for (int64_t n = 0; n < columns; ++n)
    for (int64_t k = 0; k < depth; ++k)
      packed[(n / 16 * depth + k) * 16 + n % 16] = weight[n * depth + k];
  return packed;
}

} // namespace xf::cpu::test

#endif // XF_TEST_TARGET_CPU_KERNELHARNESS_H
