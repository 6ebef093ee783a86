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
std::vector<Isa> machineIsas();
bool hasAvxVnni();
/// Whether this machine can run an instruction set, general or for some products only.
bool machineHas(Isa isa);

/// The instruction sets that have their own kernel for `op` and that this machine can run.
std::vector<Isa> runnableIsas(mlir::Operation *op);

/// Whether attention `op` multiplies int16.
inline bool takesInt16(Isa isa, mlir::Operation *op) { return attendsInInt16(isa, mlir::cast<mlir::xf::AttendOp>(op)); }
#endif // XF_TEST_GPU_KERNELS

/// A module and kernels made from ops in it.
class KernelHarness {
public:
  explicit KernelHarness(llvm::StringRef text);

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
  Kernel compile(mlir::Operation *op, Isa isa, KernelAccess access, bool isAlone = false);
  /// Like emitObjects, but compiles all functions for AVX-512 VNNI.
  static mlir::FailureOr<std::vector<Object>> emitForAvx512(mlir::ModuleOp module, std::string &error);
#endif

  mlir::OwningOpRef<mlir::ModuleOp> emit(mlir::Operation *op, Isa isa, const KernelAccess &access, llvm::StringRef name);

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> root;
};

/// A view; without strides it is dense.
xf_abi_view view(void *data, std::vector<int64_t> sizes, std::vector<int64_t> strides = {});
template <typename T>
xf_abi_view view(std::vector<T> &data, std::vector<int64_t> sizes, std::vector<int64_t> strides = {}) {
  return view(data.data(), std::move(sizes), std::move(strides));
}

/// Values between -1 and 1, the same in every run.
std::vector<float> randomValues(size_t count, uint32_t seed = 1);

/// A weight [N, K] in panels [ceil(N/16)][K][16].
std::vector<float> packPanels(const std::vector<float> &weight, int64_t columns, int64_t depth);

} // namespace xf::cpu::test

#endif // XF_TEST_TARGET_CPU_KERNELHARNESS_H
