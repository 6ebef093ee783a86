#include "test/Target/GPU/EmulatedKernel.h"

namespace xf::gpu::test {

Kernel::Kernel(mlir::Operation *op, const codegen::KernelAccess &access, mlir::ModuleOp root) {
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

void Kernel::operator()(std::vector<xf_abi_view> views, int, const std::vector<Range> &ranges) const {
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

const std::string &Kernel::functionFor(const std::vector<xf_abi_view> &views) const {
  return functions[rt::choose_launch(table.stages.front(), views.data()).function];
}

} // namespace xf::gpu::test
