// A device that runs PTX on the CPU, thread by thread as a GPU would, and finds what is wrong with kernels: accesses
// outside of memory, reads of shared memory that nobody has written, missing barriers, and blocks that need each other.
#ifndef RUNTIME_DEVICE_EMULATOR_EMULATOR_H
#define RUNTIME_DEVICE_EMULATOR_EMULATOR_H

#include "runtime/device/device.h"
#include "runtime/device/emulator/memory.h"
#include "runtime/device/emulator/program.h"

#include <memory>

namespace xf::rt {

std::unique_ptr<device> make_emulator();

namespace emulator {

struct kernel_call {
  const void *parameters;
  size_t bytes; // of them
  uint32_t blocks, threads;
};
// Throws an error that names the kernel, block, thread and line of what is wrong.
void run_kernel(const function &code, global_memory &memory, const kernel_call &call);

} // namespace emulator

} // namespace xf::rt

#endif
