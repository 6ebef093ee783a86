// A GPU kernel with the interface of the tests' CPU kernels: it is compiled to PTX, and the emulator runs it on the test's own memory.
#ifndef XF_TEST_TARGET_GPU_EMULATEDKERNEL_H
#define XF_TEST_TARGET_GPU_EMULATEDKERNEL_H

#include "compiler/Target/GPU/GpuKernels.h"
#include "runtime/core/gpu_table.h"
#include "runtime/device/emulator/emulator.h"

namespace xf::gpu::test {

class Kernel {
public:
  Kernel(mlir::Operation *op, const codegen::KernelAccess &access, mlir::ModuleOp root) {
    auto module = makeKernelModule(op->getContext());
    auto kernel = emitKernel(*module->getOps<mlir::gpu::GPUModuleOp>().begin(), "k", op, access, root);
    if (mlir::failed(kernel))
      throw std::runtime_error("the kernel cannot be emitted");
    std::string error;
    auto ptx = emitPtx(*module, error);
    if (mlir::failed(ptx))
      throw std::runtime_error(error);
    program = rt::emulator::parse_ptx(*ptx);
    for (const Launch &launch : kernel->launches) {
      table.stages.resize(launch.stage + 1);
      table.stages.back().push_back({functions.size(), toAbi(launch)});
      functions.push_back(launch.function);
    }
    table.views = kernel->views;
  }

  /// Memory from the first address up to, but not including, the second.
  using Range = std::pair<const void *, const void *>;

  /// Runs the kernel's launches, which choose their numbers of blocks: `threads` is ignored. Views beyond the kernel's are ignored, and those that
  /// the test does not pass are null. `ranges`, if there are any, are all the memory that the kernel may access.
  void operator()(std::vector<xf_abi_view> views, int threads = 1, const std::vector<Range> &ranges = {}) const {
    views.resize(std::max<size_t>(views.size(), table.views));
    rt::emulator::global_memory memory;
    for (auto [begin, end] : ranges)
      memory.adopt(reinterpret_cast<uint64_t>(begin), reinterpret_cast<uint64_t>(end));
    if (ranges.empty())
      memory.adopt(1 << 16, uint64_t(1) << 47);
    for (const rt::gpu_stage &stage : table.stages) {
      const rt::gpu_launch &chosen = rt::choose_launch(stage, views.data());
      if (uint32_t blocks = rt::blocks_of(chosen.config, views.data()))
        rt::emulator::run_kernel(program.functions.find(functions[chosen.function])->second, memory,
                                 {views.data(), table.views * sizeof(xf_abi_view), blocks, chosen.config.threads});
    }
  }

  /// The function of the first launch for views of these sizes.
  const std::string &functionFor(const std::vector<xf_abi_view> &views) const {
    return functions[rt::choose_launch(table.stages.front(), views.data()).function];
  }

  /// For kernels whose threads wait for each other on a CPU. On a GPU they have a launch for each stage.
  void together(const std::vector<xf_abi_view> &views, int threads) const { (*this)(views, threads); }

private:
  rt::emulator::program program;
  rt::gpu_kernel table;
  std::vector<std::string> functions;
};

} // namespace xf::gpu::test

#endif // XF_TEST_TARGET_GPU_EMULATEDKERNEL_H
