// Runs single kernels: compiles one from the text of a module, maps it, and calls it thread by thread.
#ifndef XF_TEST_TARGET_CPU_KERNELHARNESS_H
#define XF_TEST_TARGET_CPU_KERNELHARNESS_H

#include "compiler/Target/CPU/AttendInt16.h"
#include "compiler/Target/CPU/Kernels.h"
#include "compiler/Target/CPU/Lower.h"
#ifdef XF_TEST_GPU_KERNELS
#include "test/Target/GPU/EmulatedKernel.h"
#else
#include "test/Target/CPU/CompiledKernel.h"
#endif

#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

namespace xf::cpu::test {

#ifdef XF_TEST_GPU_KERNELS
using xf::gpu::test::Kernel;
/// A stand-in for the GPU, whose kernels replace the CPU's.
inline std::vector<Isa> machineIsas() { return {Isa::avx2}; }
inline std::vector<Isa> runnableIsas(mlir::Operation *) { return machineIsas(); }
inline bool takesInt16(Isa, mlir::Operation *) { return false; }
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

/// Whether this machine can run an instruction set, general or for some products only.
inline bool machineHas(Isa isa) {
  bool general = machineIsas().back() == Isa::avx512, vnni = __builtin_cpu_supports("avx512vnni");
  if (isa == Isa::avx512_vnni)
    return general && vnni;
  if (isa == Isa::avx512_bf16)
    return general && vnni && __builtin_cpu_supports("avx512bf16");
  // AVX-512 VNNI has AVX-VNNI's instructions, too, in other encodings.
  if (isa == Isa::avx2_vnni)
    return hasAvxVnni() || (general && vnni);
  return isa <= machineIsas().back();
}

/// The instruction sets that have their own kernel for `op` and that this machine can run.
inline std::vector<Isa> runnableIsas(mlir::Operation *op) {
  std::vector<Isa> isas;
  for (Isa isa : kernelIsas(op))
    if (machineHas(isa))
      isas.push_back(isa);
  return isas;
}

/// Whether attention `op` multiplies int16.
inline bool takesInt16(Isa isa, mlir::Operation *op) { return attendsInInt16(isa, mlir::cast<mlir::xf::AttendOp>(op)); }
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
  /// Compiles a kernel of `op`, which shares micro-kernels with earlier kernels unless it `isAlone`.
  Kernel compile(mlir::Operation *op, Isa isa, KernelAccess access, bool isAlone = false) {
    std::string error;
    std::string name = ("kernel." + isaName(isa)).str();
    auto module = emit(op, isa, access, name);
    SharedProducts &products = SharedProducts::instance();
    if (!isAlone)
      products.reuse(*module);
    auto objects = isa == Isa::avx2_vnni && !hasAvxVnni() ? emitForAvx512(*module, error) : emitObjects(*module, error);
    if (mlir::failed(objects))
      throw std::runtime_error(error);
    auto code = linkObjects(*objects, error);
    if (mlir::failed(code) || !code->symbols.contains(name))
      throw std::runtime_error("linking failed: " + error);
    auto mapped = std::make_shared<MappedCode>(*code);
    if (!isAlone)
      products.keep(mapped, *code);
    return Kernel(mapped, code->symbols.lookup(name), kernelScratchBytes(op, isa, *root));
  }

  /// Like emitObjects, but compiles all functions for AVX-512 VNNI.
  static mlir::FailureOr<std::vector<Object>> emitForAvx512(mlir::ModuleOp module, std::string &error) {
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
    auto object = emitObject(*code, *machine, error);
    if (mlir::failed(object))
      return mlir::failure();
    std::vector<Object> objects;
    objects.push_back(std::move(*object));
    return objects;
  }
#endif

  mlir::OwningOpRef<mlir::ModuleOp> emit(mlir::Operation *op, Isa isa, const KernelAccess &access, llvm::StringRef name) {
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
  std::memset(&result, 0x5a, sizeof(result)); // no kernel may read sizes and strides beyond the rank
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

/// Values between -1 and 1, the same in every run.
inline std::vector<float> randomValues(size_t count, uint32_t seed = 1) {
  std::mt19937 generator(seed);
  std::vector<float> values(count);
  for (float &value : values)
    value = static_cast<float>(generator()) / 2147483648.0f - 1.0f;
  return values;
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
