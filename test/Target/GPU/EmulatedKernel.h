// A GPU kernel with the interface of the tests' CPU kernels: it is compiled to PTX, and the emulator runs it on the test's own memory.
#ifndef XF_TEST_TARGET_GPU_EMULATEDKERNEL_H
#define XF_TEST_TARGET_GPU_EMULATEDKERNEL_H

#include "compiler/Target/GPU/GpuKernels.h"
#include "runtime/core/gpu_table.h"
#include "runtime/device/emulator/emulator.h"

namespace xf::gpu::test {

class Kernel {
public:
  Kernel(mlir::Operation *op, const codegen::KernelAccess &access, mlir::ModuleOp root);

  /// Memory from the first address up to, but not including, the second.
  using Range = std::pair<const void *, const void *>;

  /// Runs the kernel's launches, which choose their numbers of blocks: `threads` is ignored. Views beyond the kernel's are ignored, and those that
  /// the test does not pass are null. `ranges`, if there are any, are all the memory that the kernel may access.
  void operator()(std::vector<xf_abi_view> views, int threads = 1, const std::vector<Range> &ranges = {}) const;

  /// The function of the first launch for views of these sizes.
  const std::string &functionFor(const std::vector<xf_abi_view> &views) const;

  /// For kernels whose threads wait for each other on a CPU. On a GPU they have a launch for each stage.
  void together(const std::vector<xf_abi_view> &views, int threads) const { (*this)(views, threads); }

private:
  rt::emulator::program program;
  rt::gpu_kernel table;
  std::vector<std::string> functions;
};

} // namespace xf::gpu::test

#endif // XF_TEST_TARGET_GPU_EMULATEDKERNEL_H
