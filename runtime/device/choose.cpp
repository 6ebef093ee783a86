#include "runtime/device/choose.h"

#include "runtime/core/error.h"
#include "runtime/device/cuda/cuda.h"
#include "runtime/device/emulator/emulator.h"

namespace xf::rt {

std::span<const char *const> device_names() {
  static constexpr const char *kNames[] = {"best", "cpu", "cuda", "emulator"};
  return kNames;
}

std::unique_ptr<device> make_device(const model &m, device_kind kind) {
  bool for_cpu = !m.kernels().empty(), for_gpu = !m.gpu().empty();
  if (kind == device_kind::cpu || (kind == device_kind::best && !for_gpu)) {
    if (!for_cpu)
      fail(status::unsupported, "the model was compiled without code for the CPU (compile with --target cpu,cuda)");
    return nullptr;
  }
  if (!for_gpu)
    fail(status::unsupported, "the model was compiled without code for GPUs (compile with --target cpu,cuda)");
  if (kind == device_kind::emulator)
    return make_emulator();
  try {
    return make_cuda(static_cast<int>(m.header().gpu.capability));
  } catch (const error &problem) {
    // A GPU that is there but full or broken is the caller's business.
    if (kind == device_kind::best && for_cpu && problem.code == status::unsupported)
      return nullptr;
    throw;
  }
}

} // namespace xf::rt
